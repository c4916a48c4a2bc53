// SPDX-License-Identifier: MIT
package com.example.phone

import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage

/** Takes pushes. Google starts the app for it, and gives it a few seconds. */
class PhoneMessagingService : FirebaseMessagingService() {
    /** The first token, and each new one. */
    override fun onNewToken(token: String) {
        SIP.stack.register(contactParameters(token))
    }

    override fun onMessageReceived(message: RemoteMessage) {
        val call = PushedCall.from(message.data) ?: return
        when (message.data["event"]) {
            "call" -> ring(message, call)
            "cancel", "elsewhere" -> CallService.end(this, call.callId)
            else -> SIP.stack.refresh()
        }
    }

    private fun ring(message: RemoteMessage, call: PushedCall) {
        if (System.currentTimeMillis() >= call.expiresAt) return
        // Google lowers messages of an app whose pushes have shown nothing: then no service may be started.
        if (message.priority == RemoteMessage.PRIORITY_HIGH) {
            CallService.ring(this, call)
        } else {
            CallService.showWithoutService(this, call)
        }
        // Always, and over a new connection if the old one is not proven: the INVITE follows the REGISTER.
        SIP.stack.refresh()
    }

    companion object {
        /** What the Contact URI of every REGISTER has; `null` as token at logout. */
        fun contactParameters(token: String) = "pn-provider=fcm;pn-param=${SIP.project};pn-prid=$token"
    }
}

/** What these files need of the SIP stack. */
interface SIPStack {
    fun register(contactParameters: String)
    fun refresh()
    fun answer(callId: String)
    fun decline(callId: String)
}

object SIP {
    /** The project number or id that the server's service account is of. */
    const val project = "my-project"
    lateinit var stack: SIPStack
}
