/* SPDX-License-Identifier: MIT
 *
 * As much SIP as the load generator needs: header fields, requests and answers.
 * It reads what Kamailio passes on or writes, which never uses the short names.
 */
#ifndef SIP_H
#define SIP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 8192 };

typedef struct text {
    const char *at;
    int len;
} text;

/* A message under construction. */
typedef struct message {
    int len;
    char at[MESSAGE];
} message;

static inline void add(message *m, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(m->at + m->len, sizeof m->at - (size_t)m->len, format, list);
    va_end(list);
    if (n > 0) m->len += n < (int)sizeof m->at - m->len ? n : (int)sizeof m->at - m->len - 1;
}

/* The value of the nth header field of this name; length 0 when there is none. */
static inline text header(const char *message, const char *name, int n)
{
    size_t len = strlen(name);
    for (const char *line = strchr(message, '\n'); line && line[1] != '\r'; line = strchr(line, '\n')) {
        line++;
        if (strncmp(line, name, len) != 0 || line[len] != ':' || n-- > 0) continue;
        const char *at = line + len + 1;
        while (*at == ' ') at++;
        return (text){ at, (int)strcspn(at, "\r\n") };
    }
    return (text){ message, 0 };
}

/* What stands between < and > in a header field. */
static inline text inner(text value)
{
    const char *from = memchr(value.at, '<', (size_t)value.len);
    const char *to = memchr(value.at, '>', (size_t)value.len);
    if (!from || !to || to < from) return (text){ value.at, 0 };
    return (text){ from + 1, (int)(to - from - 1) };
}

/* The status of an answer; 0 for a request. */
static inline int status_of(const char *message)
{
    return strncmp(message, "SIP/2.0 ", 8) == 0 ? atoi(message + 8) : 0;
}

/* The method of a request, or of the request that an answer is for. */
static inline text method_of(const char *message)
{
    text cseq = header(message, "CSeq", 0);
    const char *space = memchr(cseq.at, ' ', (size_t)cseq.len);
    if (!space) return (text){ message, 0 };
    return (text){ space + 1, cseq.len - (int)(space + 1 - cseq.at) };
}

static inline int is(text value, const char *word)
{
    return (size_t)value.len == strlen(word) && memcmp(value.at, word, (size_t)value.len) == 0;
}

static inline void copy(char *to, size_t size, text from)
{
    size_t len = (size_t)from.len < size - 1 ? (size_t)from.len : size - 1;
    memcpy(to, from.at, len);
    to[len] = '\0';
}

/* Begins an answer: everything up to the fields that only some answers have. */
static inline void answer(message *m, const char *request, int status, const char *reason, const char *tag)
{
    text value;
    m->len = 0;
    add(m, "SIP/2.0 %d %s\r\n", status, reason);
    for (int i = 0; (value = header(request, "Via", i)).len > 0; i++) add(m, "Via: %.*s\r\n", value.len, value.at);
    for (int i = 0; (value = header(request, "Record-Route", i)).len > 0; i++)
        add(m, "Record-Route: %.*s\r\n", value.len, value.at);
    value = header(request, "From", 0), add(m, "From: %.*s\r\n", value.len, value.at);
    value = header(request, "To", 0), add(m, "To: %.*s", value.len, value.at);
    add(m, memmem(value.at, (size_t)value.len, ";tag=", 5) ? "\r\n" : ";tag=%s\r\n", tag);
    value = header(request, "Call-ID", 0), add(m, "Call-ID: %.*s\r\n", value.len, value.at);
    value = header(request, "CSeq", 0), add(m, "CSeq: %.*s\r\n", value.len, value.at);
}

static inline void end(message *m)
{
    add(m, "Content-Length: 0\r\n\r\n");
}

/* A session description of usual length for one audio stream. */
static inline void end_with_offer(message *m, int port)
{
    char body[400];
    int n = snprintf(body, sizeof body,
                     "v=0\r\no=- 3747 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                     "m=audio %d RTP/AVP 96 8 0 101\r\na=rtpmap:96 opus/48000/2\r\na=fmtp:96 useinbandfec=1\r\n"
                     "a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=sendrecv\r\n", port);
    add(m, "Content-Type: application/sdp\r\nContent-Length: %d\r\n\r\n%s", n, body);
}

/* The route set of the caller: Record-Route from the last to the first (RFC 3261, 12.1.2). */
static inline void copy_route(char *to, size_t size, const char *m)
{
    int n = 0;
    size_t len = 0;
    while (header(m, "Record-Route", n).len > 0) n++;
    while (n-- > 0 && len < size) {
        text hop = header(m, "Record-Route", n);
        len += (size_t)snprintf(to + len, size - len, "%s%.*s", len ? ", " : "", hop.len, hop.at);
    }
}

/* In static memory. */
static inline const char *user_uri(uint32_t user)
{
    static char uri[64];
    snprintf(uri, sizeof uri, "sip:u%08x@127.0.0.1", user);
    return uri;
}

#endif
