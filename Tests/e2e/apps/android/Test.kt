// SPDX-License-Identifier: MIT
package com.example.phone

import com.google.firebase.messaging.RemoteMessage

class CallActivity : android.app.Activity()

object R {
    object drawable {
        const val call = 1
    }
}

private class RecordingStack : SIPStack {
    override fun register(contactParameters: String) = println("register $contactParameters")
    override fun refresh() = println("refresh")
    override fun answer(callId: String) = println("answer $callId")
    override fun decline(callId: String) = println("decline $callId")
}

/** Takes one push: its data as NAME and VALUE in turns. */
fun main(arguments: Array<String>) {
    SIP.stack = RecordingStack()
    val data = arguments.toList().chunked(2).associate { (name, value) -> Pair(name, value) }
    println(PushedCall.from(data))
    val service = PhoneMessagingService()
    service.onNewToken("token")
    service.onMessageReceived(RemoteMessage(data, RemoteMessage.PRIORITY_HIGH))
}
