/* SPDX-License-Identifier: MIT
 *
 * calls: both ends of many calls through a SIP proxy, over UDP on loopback.
 *
 * The caller sends INVITE, ACK and BYE or CANCEL. The phone sends a REGISTER when its push arrives, which
 * the provider's stand-in tells with a datagram "TIME TOKEN"; with --awake it registers first and is called
 * then, with --registered it registered before. What a call shall come to depends on its number alone, and
 * every final code is compared with that. --busy, --never, --cancel and --race take the percentage of such calls,
 * --lose that of the packets which this program does not send. With --other there are two nodes: every other call goes to
 * that one, and half of the phones register at the node that does not hold their call.
 *
 * usage: calls --server PORT --calls N --rate N [--tell PORT] [--awake | --registered | --register] [--no-push] ...
 * Prints one JSON line. Exit status 1: a call went wrong.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "sip.h"
#include "tell.h"
#include "timers.h"
#include "udp.h"

#include <getopt.h>
#include <poll.h>
#include <stddef.h>

/* What a call shall come to. In a race the CANCEL goes out in the same millisecond as the REGISTER, or as the
 * phone's 180. */
enum plan { ANSWER, BUSY, NEVER, CANCEL_HELD, CANCEL_RINGING, RACE_REGISTER, RACE_RINGING, ONLY_REGISTER };
enum caller { WAITING, CALLING, PROCEEDING, TALKING, LEAVING, OVER };
enum cancel { NO_CANCEL, CANCEL_SENT, CANCEL_ANSWERED };
enum phone { AWAY, REGISTERING, REGISTERED, RINGING, PICKED_UP, REFUSED, IN_CALL, GONE };
enum what { SEND_CANCEL, WAKE, SEND_RINGING, PICK_UP, HANG_UP,
             AGAIN_INVITE, AGAIN_CANCEL, AGAIN_BYE, AGAIN_REGISTER, AGAIN_ANSWER };

typedef struct call {
    uint32_t user;
    uint8_t plan, caller, cancel, phone, registered, ready, raced;
    int status;
    int64_t invited, pushed, woke, rang; /* microseconds of the wall clock */
    char to[96], route[320], target[128];
    char *invite; /* as the phone got it */
    int from; /* the port that it came from */
    char branch[96];
} call;

static struct {
    int server, other, phone, tell, first, users, calls, rate, awake, registered, only_register, no_push, wake_ms, ring_ms, talk_ms, linger_ms, give_up_ms;
    int busy, never, cancel, race, lose; /* percent */
} with = { .users = 3000, .rate = 300, .wake_ms = 100, .ring_ms = 50, .talk_ms = 50, .give_up_ms = 30000 };

static uint32_t run;
static int caller_socket, phone_socket, tell_socket = -1, caller_port, phone_port;
static call *calls;
static int *active; /* call of each user */
static long resends, register_failures, doubled_invites, doubled_pushes, strays;

/* Messages */

/* The node that a call is sent to, and the one where its phone registers. */
static int caller_node(uint32_t index)
{
    return with.other && index & 1 ? with.other : with.server;
}

static int phone_node(uint32_t index)
{
    return caller_node(with.other ? index ^ (index >> 1 & 1) : index);
}

static void send_to(int socket, const message *m, int port)
{
    static uint32_t nth;
    if ((nth++ * 2654435761u >> 8) % 100 < (uint32_t)with.lose) return;
    if (!send_to_port(socket, m->at, (size_t)m->len, port)) resends++;
}

static void request(message *m, uint32_t index, const char *method, const char *uri, int cseq, const char *branch)
{
    m->len = 0;
    add(m, "%s %s SIP/2.0\r\n"
           "Via: SIP/2.0/UDP 127.0.0.1:%d;branch=z9hG4bK-%s-%08x-%08x\r\n"
           "Max-Forwards: 70\r\n"
           "From: \"Alice Example\" <sip:alice@127.0.0.1>;tag=f%08x\r\n"
           "Call-ID: c%08x-%08x@bench.example.com\r\nCSeq: %d %s\r\n",
        method, uri, caller_port, branch, run, index, index, run, index, cseq, method);
}

static void send_invite(uint32_t index, int tries)
{
    call *c = &calls[index];
    message m;
    const char *uri = user_uri(c->user);
    request(&m, index, "INVITE", uri, 1, "i");
    add(&m, "To: <%s>\r\nContact: <sip:alice@127.0.0.1:%d>\r\nUser-Agent: bench\r\n"
            "Allow: INVITE, ACK, CANCEL, BYE, OPTIONS\r\nSupported: replaces\r\n", uri, caller_port);
    end_with_offer(&m, 30000);
    if (tries == 0) c->caller = CALLING, c->invited = wall_us();
    send_to(caller_socket, &m, caller_node(index));
    timer_repeat(AGAIN_INVITE, index, tries);
}

static void send_ack(uint32_t index, int status)
{
    call *c = &calls[index];
    message m;
    request(&m, index, "ACK", status < 300 ? c->target : user_uri(c->user), 1, status < 300 ? "a" : "i");
    if (status < 300 && *c->route) add(&m, "Route: %s\r\n", c->route);
    add(&m, "To: %s\r\n", c->to);
    end(&m);
    send_to(caller_socket, &m, caller_node(index));
}

static void send_bye(uint32_t index, int tries)
{
    call *c = &calls[index];
    message m;
    request(&m, index, "BYE", c->target, 2, "b");
    add(&m, "Route: %s\r\nTo: %s\r\n", c->route, c->to);
    end(&m);
    c->caller = LEAVING;
    send_to(caller_socket, &m, caller_node(index));
    timer_repeat(AGAIN_BYE, index, tries);
}

static void send_cancel(uint32_t index, int tries)
{
    call *c = &calls[index];
    message m;
    const char *uri = user_uri(c->user);
    if (c->caller != PROCEEDING) return;
    request(&m, index, "CANCEL", uri, 1, "i");
    add(&m, "To: <%s>\r\n", uri);
    end(&m);
    c->cancel = CANCEL_SENT;
    send_to(caller_socket, &m, caller_node(index));
    timer_repeat(AGAIN_CANCEL, index, tries);
}

static void send_register(uint32_t index, int tries)
{
    call *c = &calls[index];
    const char *uri = user_uri(c->user);
    message m = { .len = 0 };
    add(&m, "REGISTER sip:127.0.0.1 SIP/2.0\r\n"
            "Via: SIP/2.0/UDP 127.0.0.1:%d;branch=z9hG4bK-r-%08x-%08x;rport\r\nMax-Forwards: 70\r\n"
            "From: <%s>;tag=r%08x\r\nTo: <%s>\r\nCall-ID: r%08x-%08x@bench.example.com\r\nCSeq: 1 REGISTER\r\n"
            "Contact: <sip:u%08x@127.0.0.1:%d", phone_port, run, index, uri, index, uri, run, index, c->user, phone_port);
    if (!with.no_push)
        add(&m, ";pn-provider=apns;pn-param=DEF123GHIJ.com.example.phone.voip;pn-prid=%016x"
                "abababababababababababababababababababababababab", c->user);
    add(&m, ">;+sip.instance=\"<urn:uuid:00000000-0000-4000-8000-0000%08x>\"\r\n"
            "Expires: 3600\r\nUser-Agent: bench\r\nSupported: path\r\n", c->user);
    end(&m);
    if (tries == 0) c->phone = REGISTERING, c->woke = wall_us();
    send_to(phone_socket, &m, phone_node(index));
    timer_repeat(AGAIN_REGISTER, index, tries);
}

/* The phone's answer to its INVITE, by its state. */
static void send_answer(uint32_t index)
{
    call *c = &calls[index];
    message m;
    char tag[16];
    snprintf(tag, sizeof tag, "t%08x", index);
    if (c->phone == RINGING) answer(&m, c->invite, 180, "Ringing", tag);
    else if (c->phone == PICKED_UP) answer(&m, c->invite, 200, "OK", tag);
    else if (c->phone == REFUSED && c->plan == BUSY) answer(&m, c->invite, 486, "Busy Here", tag);
    else if (c->phone == REFUSED) answer(&m, c->invite, 487, "Request Terminated", tag);
    else return;
    if (c->phone != REFUSED) add(&m, "Contact: <sip:u%08x@127.0.0.1:%d>\r\n", c->user, phone_port);
    if (c->phone == PICKED_UP) end_with_offer(&m, 40000);
    else end(&m);
    send_to(phone_socket, &m, c->from);
}

static void send_final(uint32_t index, int state, int tries)
{
    calls[index].phone = (uint8_t)state;
    send_answer(index);
    timer_repeat(AGAIN_ANSWER, index, tries);
}

/* The caller hangs up while the phone does something: one of them at once, the other within the same millisecond.
 * Both orders and several distances occur. */
static void race(uint32_t index)
{
    call *c = &calls[index];
    int64_t distance = index & 2 ? 0 : (index >> 2) % 8 * 100;
    if (c->raced || !c->ready || c->caller != PROCEEDING) return;
    c->raced = 1;
    int phone = c->plan == RACE_REGISTER ? WAKE : SEND_RINGING;
    timer_add(index & 1 ? distance : 0, SEND_CANCEL, index, 0);
    timer_add(index & 1 ? 0 : distance, phone, index, 0);
}

static void fire(timer e)
{
    call *c = &calls[e.call];
    switch (e.what) {
    case SEND_CANCEL: send_cancel(e.call, 0); return;
    case WAKE: send_register(e.call, 0); return;
    case SEND_RINGING: if (c->phone == RINGING) send_answer(e.call); return;
    case PICK_UP: if (c->phone == RINGING) send_final(e.call, PICKED_UP, 0); return;
    case HANG_UP: if (c->caller == TALKING) send_bye(e.call, 0); return;
    case AGAIN_INVITE: if (c->caller == CALLING) resends++, send_invite(e.call, e.tries); return;
    case AGAIN_CANCEL: if (c->cancel == CANCEL_SENT) resends++, send_cancel(e.call, e.tries); return;
    case AGAIN_BYE: if (c->caller == LEAVING) resends++, send_bye(e.call, e.tries); return;
    case AGAIN_REGISTER: if (c->phone == REGISTERING) resends++, send_register(e.call, e.tries); return;
    case AGAIN_ANSWER:
        if (c->phone == PICKED_UP || c->phone == REFUSED) resends++, send_final(e.call, c->phone, e.tries);
    }
}

/* What comes in */

static void caller_receives(uint32_t index, const char *m)
{
    call *c = &calls[index];
    int status = status_of(m);
    text method = method_of(m);
    if (is(method, "BYE") && status >= 200 && c->caller == LEAVING) c->caller = OVER;
    if (is(method, "CANCEL") && status >= 200) c->cancel = CANCEL_ANSWERED;
    if (!is(method, "INVITE") || c->caller == WAITING) return;
    if (status < 200) {
        int first = c->caller == CALLING;
        if (first) c->caller = PROCEEDING;
        if (first && c->plan == CANCEL_HELD) timer_add(with.wake_ms * 1000, SEND_CANCEL, index, 0);
        if (status == 180 && c->plan == CANCEL_RINGING && c->cancel == NO_CANCEL)
            timer_add(with.ring_ms * 1000, SEND_CANCEL, index, 0);
        return race(index);
    }
    if (c->status == 0) {
        c->status = status;
        copy(c->to, sizeof c->to, header(m, "To", 0));
        copy_route(c->route, sizeof c->route, m);
        copy(c->target, sizeof c->target, inner(header(m, "Contact", 0)));
        if (status < 300) c->caller = TALKING, timer_add(with.talk_ms * 1000, HANG_UP, index, 0);
        else c->caller = OVER;
    }
    send_ack(index, status);
}

static void phone_says(const char *request, int status, const char *reason, int port)
{
    message m;
    answer(&m, request, status, reason, "bench");
    end(&m);
    send_to(phone_socket, &m, port);
}

/* RFC 3261, 8.2.2.2: a request that has come another way is answered 482. */
static void phone_is_called(uint32_t index, const char *m, int64_t at, int port)
{
    call *c = &calls[index];
    char branch[sizeof c->branch];
    text via = header(m, "Via", 0);
    const char *found = memmem(via.at, (size_t)via.len, "branch=", 7);
    copy(branch, sizeof branch, found ? (text){ found, via.len - (int)(found - via.at) } : via);
    if (c->invite && strcmp(branch, c->branch) == 0) return send_answer(index);
    doubled_invites += c->invite != NULL;
    if (c->phone == RINGING || c->phone == PICKED_UP || c->phone == IN_CALL) return phone_says(m, 482, "Loop Detected", port);
    free(c->invite);
    c->invite = strdup(m);
    memcpy(c->branch, branch, sizeof branch);
    c->rang = at, c->from = port;
    if (c->plan == BUSY) return send_final(index, REFUSED, 0);
    c->phone = RINGING;
    if (c->plan == RACE_RINGING) {
        c->ready = 1;
        return race(index);
    }
    send_answer(index);
    if (c->plan == ANSWER) timer_add(with.ring_ms * 1000, PICK_UP, index, 0);
}

static void phone_receives(uint32_t index, const char *m, int64_t at, int port)
{
    call *c = &calls[index];
    text method = method_of(m);
    int status = status_of(m);
    if (is(method, "REGISTER") && status >= 200) {
        if (status >= 300) register_failures++;
        if (c->phone == REGISTERING) c->phone = REGISTERED;
        if (c->registered++ == 0 && with.awake) send_invite(index, 0);
    } else if (status == 0 && is(method, "INVITE")) {
        /* A phone that sleeps hears nothing, wherever the server sends it. */
        if (c->phone != AWAY || with.registered) phone_is_called(index, m, at, port);
    } else if (status == 0 && is(method, "CANCEL")) {
        phone_says(m, 200, "OK", port);
        if (c->phone == RINGING) send_final(index, REFUSED, 0);
    } else if (status == 0 && is(method, "BYE")) {
        phone_says(m, 200, "OK", port);
        c->phone = GONE;
    } else if (is(method, "ACK")) {
        if (c->phone == PICKED_UP) c->phone = IN_CALL;
        if (c->phone == REFUSED) c->phone = GONE;
    }
}

static void push_arrives(const char *m)
{
    char *end;
    int64_t at = strtoll(m, &end, 10);
    char digits[17] = { 0 };
    while (*end == ' ' || *end == 'u') end++;
    strncpy(digits, end, 16);
    uint64_t user = strtoull(digits, NULL, 16) - (uint64_t)with.first;
    if (user >= (uint64_t)with.users || active[user] < 0) {
        strays++;
        return;
    }
    uint32_t index = (uint32_t)active[user];
    call *c = &calls[index];
    if (c->pushed) {
        doubled_pushes++;
        return;
    }
    c->pushed = at;
    if (c->plan == RACE_REGISTER) {
        c->ready = 1;
        race(index);
    } else if (c->plan != NEVER && c->plan != CANCEL_HELD) {
        timer_add(with.wake_ms * 1000, WAKE, index, 0);
    }
}

static void receive(int socket)
{
    char data[MESSAGE], control[128];
    for (;;) {
        struct iovec part = { data, sizeof data - 1 };
        struct sockaddr_in from = { 0 };
        struct msghdr h = { &from, sizeof from, &part, 1, control, sizeof control, 0 };
        ssize_t n = recvmsg(socket, &h, 0);
        if (n < 0) return;
        data[n] = '\0';
        if (socket == tell_socket) {
            push_arrives(data);
            continue;
        }
        text id = header(data, "Call-ID", 0);
        unsigned number, index;
        if (id.len < 18 || sscanf(id.at + 1, "%8x-%8x", &number, &index) != 2 || number != run
            || index >= (unsigned)with.calls) strays++;
        else if (socket == caller_socket) caller_receives(index, data);
        else phone_receives(index, data, arrival(&h), ntohs(from.sin_port));
    }
}

/* The run */

static int plan_of(uint32_t index)
{
    if (with.only_register) return ONLY_REGISTER;
    uint32_t dice = index * 2654435761u >> 8;
    int percent = (int)(dice % 100);
    if ((percent -= with.race) < 0) return dice / 100 % 2 ? RACE_RINGING : RACE_REGISTER;
    if ((percent -= with.cancel) < 0) return dice / 100 % 2 ? CANCEL_RINGING : CANCEL_HELD;
    if ((percent -= with.busy) < 0) return BUSY;
    return percent - with.never < 0 ? NEVER : ANSWER;
}

static int wanted(int plan)
{
    static const int status[] = { [ANSWER] = 200, [BUSY] = 486, [NEVER] = 480, [CANCEL_HELD] = 487, [CANCEL_RINGING] = 487,
                                  [RACE_REGISTER] = 487, [RACE_RINGING] = 487, [ONLY_REGISTER] = 0 };
    return status[plan];
}

static int is_done(const call *c)
{
    if (c->plan == ONLY_REGISTER) return c->phone == REGISTERED;
    return c->caller == OVER && c->cancel != CANCEL_SENT && (c->phone == AWAY || c->phone == REGISTERED || c->phone == GONE);
}

static void start(uint32_t index)
{
    call *c = &calls[index];
    c->user = (uint32_t)with.first + index % (uint32_t)with.users;
    c->plan = (uint8_t)plan_of(index);
    active[index % (uint32_t)with.users] = (int)index;
    if (with.awake || with.only_register) send_register(index, 0);
    else send_invite(index, 0);
}

static void run_calls(void)
{
    struct pollfd sockets[] = { { caller_socket, POLLIN, 0 }, { phone_socket, POLLIN, 0 }, { tell_socket, POLLIN, 0 } };
    int64_t begin = now_us(), end = begin + (int64_t)with.calls * 1000000 / with.rate + with.give_up_ms * 1000LL, done_at = 0;
    for (int started = 0, first = 0;;) {
        int64_t now = now_us(), next = end;
        while (started < with.calls && begin + (int64_t)started * 1000000 / with.rate <= now) start((uint32_t)started++);
        while (timer_next() <= now) fire(timer_pop());
        while (first < started && is_done(&calls[first])) first++;
        if (first == with.calls && done_at == 0) done_at = now;
        if (now >= end || (done_at && now >= done_at + with.linger_ms * 1000LL)) return;
        if (started < with.calls) next = begin + (int64_t)started * 1000000 / with.rate;
        else if (done_at) next = done_at + with.linger_ms * 1000LL;
        if (timer_next() < next) next = timer_next();
        now = now_us();
        struct timespec wait = { .tv_nsec = 0 };
        if (next > now) wait.tv_sec = (next - now) / 1000000, wait.tv_nsec = (next - now) % 1000000 * 1000;
        ppoll(sockets, tell_socket < 0 ? 2 : 3, &wait, NULL);
        for (int i = 0; i < (tell_socket < 0 ? 2 : 3); i++)
            if (sockets[i].revents) receive(sockets[i].fd);
    }
}

static void print_delay(const char *name, size_t from, size_t to)
{
    uint32_t *delays = calloc((size_t)with.calls + 1, sizeof *delays);
    long n = 0;
    for (int i = 0; i < with.calls; i++) {
        int64_t a, b;
        memcpy(&a, (char *)&calls[i] + from, sizeof a), memcpy(&b, (char *)&calls[i] + to, sizeof b);
        if (a && b) delays[n++] = b > a ? (uint32_t)(b - a) : 0;
    }
    print_delays(name, delays, n);
    free(delays);
}

/* A caller waits so long for a phone to ring. */
#define IN_TIME_US 5000000

/* Says on standard error what became of the first calls that went wrong. */
static void explain(uint32_t index, long nth)
{
    static const char *const plans[] = { "answer", "busy", "never", "cancel while held", "cancel while ringing",
                                         "cancel against REGISTER", "cancel against 180", "register" };
    static const char *const callers[] = { "waits", "calls", "proceeds", "talks", "hangs up", "is done" };
    static const char *const phones[] = { "is away", "registers", "has registered", "rings", "picked up", "refused", "talks",
                                          "is done" };
    static const char *const cancels[] = { "", ", CANCEL not answered", ", CANCEL answered" };
    const call *c = &calls[index];
    if (nth > 10) return;
    fprintf(stderr, "calls: c%08x-%08x (%s): caller %s with %d%s, phone %s, pushed %+.3f s, woke %+.3f s, rang %+.3f s\n", run,
            index, plans[c->plan], callers[c->caller], c->status, cancels[c->cancel], phones[c->phone],
            c->pushed ? (double)(c->pushed - c->invited) / 1e6 : 0, c->woke ? (double)(c->woke - c->invited) / 1e6 : 0,
            c->rang ? (double)(c->rang - c->invited) / 1e6 : 0);
}

static int print_result(double seconds)
{
    long wrong = 0, unfinished = 0, left_ringing = 0, pushes = 0, in_time = 0, finals[1000] = { 0 };
    for (int i = 0; i < with.calls; i++) {
        const call *c = &calls[i];
        pushes += c->pushed != 0;
        left_ringing += c->caller == OVER && (c->phone == RINGING || c->phone == PICKED_UP);
        unfinished += !is_done(c);
        in_time += c->status == 200 && c->rang - c->invited <= IN_TIME_US;
        wrong += is_done(c) && c->status != wanted(c->plan);
        if (!is_done(c) || c->status != wanted(c->plan)) explain((uint32_t)i, wrong + unfinished);
        if (c->status > 0 && c->status < 1000) finals[c->status]++;
    }
    printf("{\"calls\":%d,\"ok\":%ld,\"wrong\":%ld,\"unfinished\":%ld,\"left_ringing\":%ld,\"register_failures\":%ld,"
           "\"in_time\":%ld,\"pushes\":%ld,\"doubled_pushes\":%ld,\"doubled_invites\":%ld,\"resends\":%ld,\"strays\":%ld,", with.calls,
           with.calls - wrong - unfinished, wrong, unfinished, left_ringing, register_failures, in_time, pushes, doubled_pushes,
           doubled_invites, resends, strays);
    print_delay("push", offsetof(call, invited), offsetof(call, pushed));
    if (!with.awake && !with.registered) print_delay("join", offsetof(call, woke), offsetof(call, rang));
    printf("\"finals\":{");
    const char *comma = "";
    for (int i = 0; i < 1000; i++)
        if (finals[i]) printf("%s\"%d\":%ld", comma, i, finals[i]), comma = ",";
    printf("},\"seconds\":%.3f}\n", seconds);
    return wrong + unfinished + register_failures > 0;
}

static void read_options(int argc, char **argv)
{
    static const struct { const char *name; int *value; int flag; } known[] = {
        { "server", &with.server, 0 }, { "other", &with.other, 0 }, { "phone", &with.phone, 0 }, { "tell", &with.tell, 0 },
        { "first", &with.first, 0 }, { "users", &with.users, 0 }, { "calls", &with.calls, 0 }, { "rate", &with.rate, 0 },
        { "awake", &with.awake, 1 }, { "registered", &with.registered, 1 }, { "register", &with.only_register, 1 },
        { "no-push", &with.no_push, 1 }, { "wake-ms", &with.wake_ms, 0 }, { "ring-ms", &with.ring_ms, 0 },
        { "talk-ms", &with.talk_ms, 0 }, { "linger-ms", &with.linger_ms, 0 }, { "give-up-ms", &with.give_up_ms, 0 },
        { "busy", &with.busy, 0 }, { "never", &with.never, 0 }, { "cancel", &with.cancel, 0 }, { "race", &with.race, 0 },
        { "lose", &with.lose, 0 } };
    enum { COUNT = sizeof known / sizeof *known };
    struct option options[COUNT + 1] = { 0 };
    for (int i = 0; i < COUNT; i++) options[i] = (struct option){ known[i].name, !known[i].flag, NULL, i + 1 };
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o < 1 || o > COUNT) exit(2);
        *known[o - 1].value = known[o - 1].flag ? 1 : atoi(optarg);
    }
    if (!with.server || with.calls < 1 || with.rate < 1 || with.users < 1) die("calls: --server, --calls and --rate are needed");
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    run = (uint32_t)(wall_us() / 1000);
    calls = calloc((size_t)with.calls, sizeof *calls);
    active = malloc((size_t)with.users * sizeof *active);
    if (!calls || !active) die("calls: out of memory");
    memset(active, 0xff, (size_t)with.users * sizeof *active);
    caller_socket = open_socket(0), caller_port = port_of(caller_socket);
    phone_socket = open_socket(with.phone), phone_port = port_of(phone_socket);
    if (with.tell) tell_socket = open_socket(with.tell);
    int64_t begin = now_us();
    run_calls();
    return print_result((double)(now_us() - begin) / 1e6);
}
