/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Where requests wait: a PJSIP transport that ends in this module.
 *
 * What is sent over it goes to the library, and the library's answers come in as if they had been received. It has no
 * port and no socket: nobody else can reach it.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/uri.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

/*! An address, so that nobody looks a name up; nobody listens there for us. */
#define PLACE_HOST "127.0.0.1"
#define PLACE_PORT 5099
#define PLACE_TYPE "pushwake"
/*! Parameter: all phones of the user ring, as PushWake() promises. */
#define FOR_ALL "all"

static pjsip_transport *place;
static int place_type;
/*! What is sent while the transport goes is dropped. */
static int is_closed;
/*! PJSIP calls no function of it any more. */
static int is_gone;
/*! Milliseconds that it may take for that. */
#define GONE_MS 5000
/*! A PJSIP with more modules (PJSIP_MAX_MODULE) has more room at the end of what it receives. */
#define SPARE 1024

int pushwake__place_is(const pjsip_sip_uri *uri)
{
	return uri->port == PLACE_PORT && !pj_strcmp2(&uri->host, PLACE_HOST) && !pj_stricmp2(&uri->transport_param, PLACE_TYPE);
}

char *pushwake__place_uri(const char *aor)
{
	size_t size = strlen(aor) * 3 + 1;
	char *user = ast_alloca(size);
	char *uri = NULL;

	ast_uri_encode(aor, user, size, ast_uri_sip_user);
	return ast_asprintf(&uri, "sip:%s@" PLACE_HOST ":%d;transport=" PLACE_TYPE, user, PLACE_PORT) < 0 ? NULL : uri;
}

char *pushwake__place_uri_for_all(const char *aor)
{
	char *uri = pushwake__place_uri(aor);
	char *all = NULL;

	if (uri && ast_asprintf(&all, "%s;" FOR_ALL, uri) < 0) {
		all = NULL;
	}
	ast_free(uri);
	return all;
}

int pushwake__place_is_for_all(const pjsip_sip_uri *uri)
{
	static const pj_str_t name = { FOR_ALL, sizeof(FOR_ALL) - 1 };

	return pushwake__place_is(uri) && pjsip_param_find(&uri->other_param, &name) != NULL;
}

static pj_status_t send_message(pjsip_transport *transport, pjsip_tx_data *tdata, const pj_sockaddr_t *to, int to_len,
	void *token, pjsip_transport_callback callback)
{
	struct pushwake__told told = {
		.kind = PUSHWAKE__TOLD_MESSAGE,
		.text = { tdata->buf.start, (size_t) (tdata->buf.cur - tdata->buf.start) },
	};

	if (__atomic_load_n(&is_closed, __ATOMIC_ACQUIRE)) {
		return PJSIP_ETPNOTAVAIL;
	}
	pushwake__legs_tell(&told);
	return PJ_SUCCESS;
}

/*! Idle transports are shut down; this one stays as long as the module does. */
static pj_status_t do_shutdown(pjsip_transport *transport)
{
	return PJ_SUCCESS;
}

static pj_status_t destroy(pjsip_transport *transport)
{
	pj_lock_destroy(transport->lock);
	pj_atomic_destroy(transport->ref_cnt);
	pjsip_endpt_release_pool(transport->endpt, transport->pool);
	__atomic_store_n(&is_gone, 1, __ATOMIC_RELEASE);
	return PJ_SUCCESS;
}

/*! PJSIP wants to know each thread that it works in. */
static void make_known(void)
{
	static __thread pj_thread_desc desc;
	pj_thread_t *self;

	if (!pj_thread_is_registered()) {
		pj_bzero(desc, sizeof(desc));
		pj_thread_register("pushwake", desc, &self);
	}
}

void pushwake__place_answer(pushwake_str message)
{
	pjsip_endpoint *endpoint = ast_sip_get_pjsip_endpoint();
	pj_pool_t *pool;
	pjsip_rx_data *rdata;

	if (!place || message.len >= sizeof(rdata->pkt_info.packet)) {
		return;
	}
	make_known();
	pool = pjsip_endpt_create_pool(endpoint, "pushwake", sizeof(*rdata) + SPARE + 4000, 4000);
	if (!pool) {
		return;
	}
	rdata = pj_pool_zalloc(pool, sizeof(*rdata) + SPARE);
	memcpy(rdata->pkt_info.packet, message.ptr, message.len);
	rdata->tp_info.pool = pool;
	rdata->tp_info.transport = place;
	rdata->pkt_info.len = (pj_ssize_t) message.len;
	pj_gettimeofday(&rdata->pkt_info.timestamp);
	pj_sockaddr_cp(&rdata->pkt_info.src_addr, &place->key.rem_addr);
	rdata->pkt_info.src_addr_len = sizeof(pj_sockaddr_in);
	strcpy(rdata->pkt_info.src_name, PLACE_HOST); /* safe: it has room for an address */
	rdata->pkt_info.src_port = PLACE_PORT;
	pjsip_tpmgr_receive_packet(place->tpmgr, rdata);
	pjsip_endpt_release_pool(endpoint, pool);
}

static pjsip_transport *make(pjsip_endpoint *endpoint, pj_pool_t *pool)
{
	static pj_str_t host = { PLACE_HOST, sizeof(PLACE_HOST) - 1 };
	pjsip_transport *made = PJ_POOL_ZALLOC_T(pool, pjsip_transport);

	strcpy(made->obj_name, PLACE_TYPE); /* safe: PJ_MAX_OBJ_NAME is longer */
	made->pool = pool;
	if (pj_atomic_create(pool, 0, &made->ref_cnt) != PJ_SUCCESS
		|| pj_lock_create_recursive_mutex(pool, PLACE_TYPE, &made->lock) != PJ_SUCCESS) {
		return NULL;
	}
	made->key.type = place_type;
	pj_sockaddr_init(pj_AF_INET(), &made->key.rem_addr, &host, PLACE_PORT);
	made->type_name = PLACE_TYPE;
	/* Nothing is lost on the way, so PJSIP sends nothing twice. */
	made->flag = PJSIP_TRANSPORT_RELIABLE;
	made->info = PLACE_TYPE;
	made->addr_len = sizeof(pj_sockaddr_in);
	pj_sockaddr_cp(&made->local_addr, &made->key.rem_addr);
	made->local_name.host = made->remote_name.host = host;
	made->local_name.port = made->remote_name.port = PLACE_PORT;
	made->endpt = endpoint;
	made->tpmgr = pjsip_endpt_get_tpmgr(endpoint);
	made->send_msg = send_message;
	made->do_shutdown = do_shutdown;
	made->destroy = destroy;
	return made;
}

static int start_task(void *data)
{
	pjsip_endpoint *endpoint = ast_sip_get_pjsip_endpoint();
	pj_pool_t *pool;
	char *name;

	/* A type stays for good, and so does its name: that of a module that was loaded before is used again. */
	place_type = pjsip_transport_get_type_from_name(&(pj_str_t) { PLACE_TYPE, sizeof(PLACE_TYPE) - 1 });
	if (place_type == PJSIP_TRANSPORT_UNSPECIFIED) {
		name = ast_strdup(PLACE_TYPE);
		if (!name || pjsip_transport_register_type(PJSIP_TRANSPORT_RELIABLE, name, PLACE_PORT, &place_type) != PJ_SUCCESS) {
			ast_free(name);
			return -1;
		}
	}
	__atomic_store_n(&is_gone, 0, __ATOMIC_RELEASE);
	pool = pjsip_endpt_create_pool(endpoint, PLACE_TYPE, 1000, 1000);
	place = pool ? make(endpoint, pool) : NULL;
	if (!place || pjsip_transport_register(place->tpmgr, place) != PJ_SUCCESS) {
		place = NULL;
		return -1;
	}
	pjsip_transport_add_ref(place);
	return 0;
}

/*! What Asterisk sends outside of calls, such as the notice of a mailbox, goes here whatever transport its endpoint has. */
static void outgoing_request(struct ast_sip_endpoint *endpoint, struct ast_sip_contact *contact, pjsip_tx_data *tdata)
{
	pjsip_tpselector any = { .type = PJSIP_TPSELECTOR_NONE };
	const pjsip_uri *uri = pjsip_uri_get_uri(tdata->msg->line.req.uri);

	if ((PJSIP_URI_SCHEME_IS_SIP(uri) || PJSIP_URI_SCHEME_IS_SIPS(uri)) && pushwake__place_is((const pjsip_sip_uri *) uri)) {
		pjsip_tx_data_set_transport(tdata, &any);
	}
}

static struct ast_sip_supplement requests = {
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_LAST,
	.outgoing_request = outgoing_request,
};

static int stop_task(void *data)
{
	pjsip_transport_shutdown(place);
	pjsip_transport_dec_ref(place);
	place = NULL;
	return 0;
}

int pushwake__place_start(void)
{
	__atomic_store_n(&is_closed, 0, __ATOMIC_RELEASE);
	if (ast_sip_push_task_wait_servant(NULL, start_task, NULL)) {
		ast_log(LOG_ERROR, "PJSIP takes no transport of PushWake's own\n");
		return -1;
	}
	ast_sip_register_supplement(&requests);
	return 0;
}

void pushwake__place_stop(void)
{
	ast_sip_unregister_supplement(&requests);
	__atomic_store_n(&is_closed, 1, __ATOMIC_RELEASE);
	if (place) {
		ast_sip_push_task_wait_servant(NULL, stop_task, NULL);
		/* A thread of PJSIP's destroys it, when nothing of it is in use. */
		for (int waited = 0; waited < GONE_MS && !__atomic_load_n(&is_gone, __ATOMIC_ACQUIRE); waited += 5) {
			usleep(5000);
		}
	}
}
