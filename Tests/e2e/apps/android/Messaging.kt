// SPDX-License-Identifier: MIT
package com.google.firebase.messaging

import android.app.Service
import android.content.Intent
import android.os.IBinder

class RemoteMessage(val data: Map<String, String>, val priority: Int) {
    companion object {
        const val PRIORITY_HIGH = 1
    }
}

abstract class FirebaseMessagingService : Service() {
    override fun onBind(intent: Intent?): IBinder? = null
    open fun onNewToken(token: String) {}
    open fun onMessageReceived(message: RemoteMessage) {}
}
