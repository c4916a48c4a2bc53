/* SPDX-License-Identifier: MIT */
#pragma once
/* As in CLinux: both modules must see the same struct definitions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/ocsp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

/* Both ends of a TLS session's ciphertext, in memory: input is borrowed for
 * the time of one read, output is appended to until the owner sends it.
 * BIO_s_mem would copy, grow and move; a socket BIO costs a system call per
 * record. */
typedef struct copenssl_pipe {
    const unsigned char *input;
    size_t input_left;
    unsigned char *output;
    size_t output_used;
    size_t output_size;
} copenssl_pipe;

static inline int copenssl_pipe_write(BIO *bio, const char *bytes, size_t count, size_t *written)
{
    copenssl_pipe *pipe = BIO_get_data(bio);
    size_t room = pipe->output_size - pipe->output_used;
    BIO_clear_retry_flags(bio);
    if (room == 0) {
        BIO_set_retry_write(bio);
        return 0;
    }
    if (count > room) count = room;
    memcpy(pipe->output + pipe->output_used, bytes, count);
    pipe->output_used += count;
    *written = count;
    return 1;
}

static inline int copenssl_pipe_read(BIO *bio, char *bytes, size_t count, size_t *taken)
{
    copenssl_pipe *pipe = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (pipe->input_left == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    if (count > pipe->input_left) count = pipe->input_left;
    memcpy(bytes, pipe->input, count);
    pipe->input += count;
    pipe->input_left -= count;
    *taken = count;
    return 1;
}

static inline long copenssl_pipe_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static inline BIO_METHOD *copenssl_pipe_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pushwake pipe");
    if (method != NULL) {
        BIO_meth_set_write_ex(method, copenssl_pipe_write);
        BIO_meth_set_read_ex(method, copenssl_pipe_read);
        BIO_meth_set_ctrl(method, copenssl_pipe_control);
    }
    return method;
}

/* Gives the session a BIO over |pipe|, which must outlive it. 1 on success. */
static inline int copenssl_attach(SSL *ssl, BIO_METHOD *method, copenssl_pipe *pipe)
{
    BIO *bio = BIO_new(method);
    if (bio == NULL) return 0;
    BIO_set_data(bio, pipe);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return 1;
}

/* Macros, as functions. */
static inline void copenssl_configure(SSL_CTX *context, int minimum, int maximum)
{
    SSL_CTX_set_min_proto_version(context, minimum);
    SSL_CTX_set_max_proto_version(context, maximum);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET
                                     | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
}
/* What a server stapled to its certificate (RFC 6066, 8): 0, which ends the handshake, when its authority says, and says
 * now, that the certificate is revoked. Servers need not staple, and what cannot be verified counts as not stapled. */
static inline int copenssl_check_staple(SSL *ssl, void *unused)
{
    (void)unused;
    const unsigned char *bytes = NULL;
    long length = SSL_get_tlsext_status_ocsp_resp(ssl, (void *)&bytes);
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    if (bytes == NULL || length <= 0 || chain == NULL || sk_X509_num(chain) < 2) return 1;
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &bytes, length);
    OCSP_BASICRESP *basic = response != NULL ? OCSP_response_get1_basic(response) : NULL;
    X509_STORE *store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl));
    OCSP_CERTID *id = OCSP_cert_to_id(NULL, sk_X509_value(chain, 0), sk_X509_value(chain, 1));
    int status = V_OCSP_CERTSTATUS_GOOD, reason = 0;
    ASN1_GENERALIZEDTIME *revoked = NULL, *from = NULL, *until = NULL;
    int is_revoked = basic != NULL && id != NULL && OCSP_basic_verify(basic, chain, store, 0) == 1
                     && OCSP_resp_find_status(basic, id, &status, &reason, &revoked, &from, &until) == 1
                     && status == V_OCSP_CERTSTATUS_REVOKED && OCSP_check_validity(from, until, 300, -1) == 1;
    OCSP_CERTID_free(id);
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(response);
    ERR_clear_error();
    return !is_revoked;
}
static inline void copenssl_ask_for_staples(SSL_CTX *context)
{
    SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_tlsext_status_cb(context, copenssl_check_staple);
}
/* A server's choice (RFC 7301, 3.2): HTTP/2 when the client has it, else HTTP/1.1; a client that has neither is served
 * as one without ALPN. */
static inline int copenssl_select_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length,
                                           const unsigned char *offered, unsigned int count, void *unused)
{
    static const unsigned char known[] = "\x02h2\x08http/1.1";
    (void)ssl, (void)unused;
    unsigned char *found = NULL;
    if (SSL_select_next_proto(&found, length, known, sizeof known - 1, offered, count) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}
static inline void copenssl_serve(SSL_CTX *context)
{
    SSL_CTX_set_alpn_select_cb(context, copenssl_select_protocol, NULL);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
}
static inline int copenssl_add_chain(SSL_CTX *context, X509 *certificate)
{
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int copenssl_set_server_name(SSL *ssl, const char *name)
{
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline EVP_PKEY *copenssl_make_p256(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *copenssl_make_rsa(unsigned int bits) { return EVP_RSA_gen(bits); }
/* RSASSA-PSS with MGF1 and a salt as long as the hash (RFC 7518, 3.5). */
static inline int copenssl_use_pss(EVP_PKEY_CTX *options)
{
    return EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1
           && EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1;
}
static inline size_t copenssl_memory(BIO *bio, const unsigned char **bytes)
{
    char *start = NULL;
    long count = BIO_get_mem_data(bio, &start);
    *bytes = (const unsigned char *)start;
    return count > 0 ? (size_t)count : 0;
}
static inline void copenssl_free_certificates(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }
static inline int copenssl_certificate_count(STACK_OF(X509) *stack) { return stack ? sk_X509_num(stack) : 0; }
static inline X509 *copenssl_certificate_at(STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }

/* PEM password callback: the C string in |argument|, or an empty password, never a prompt. */
static inline int copenssl_password(char *buffer, int size, int rwflag, void *argument)
{
    size_t count = argument ? strlen((const char *)argument) : 0;
    (void)rwflag;
    if (size <= 0) return 0;
    if (count > (size_t)size) count = (size_t)size;
    if (count > 0) memcpy(buffer, argument, count);
    return (int)count;
}
static inline EVP_PKEY *copenssl_read_private_key(BIO *bio, const char *password)
{
    return PEM_read_bio_PrivateKey(bio, NULL, copenssl_password, (void *)password);
}
static inline EVP_PKEY *copenssl_read_private_key_in(BIO *bio, const char *password, OSSL_LIB_CTX *context)
{
    return PEM_read_bio_PrivateKey_ex(bio, NULL, copenssl_password, (void *)password, context, NULL);
}

/* What an error of PKCS12_parse means: 1 wrong password, 2 a cipher that this library context lacks, 0 other.
   A wrong password shows in the MAC. Without one it decrypts to garbage: in 255 of 256 cases the padding is wrong
   (CIPHERFINAL), else the content is not ASN.1 (DECODE). */
static inline int copenssl_pkcs12_failure(unsigned long code)
{
    int reason = ERR_GET_REASON(code);
    if (ERR_GET_LIB(code) == ERR_LIB_PKCS12
        && (reason == PKCS12_R_MAC_VERIFY_FAILURE || reason == PKCS12_R_PKCS12_CIPHERFINAL_ERROR
            || reason == PKCS12_R_DECODE_ERROR)) return 1;
    return reason == ERR_R_UNSUPPORTED ? 2 : 0;
}
