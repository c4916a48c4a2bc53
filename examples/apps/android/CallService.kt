// SPDX-License-Identifier: MIT
package com.example.phone

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.app.PendingIntent
import android.app.Person
import android.app.Service
import android.content.Context
import android.content.Intent
import android.content.pm.ServiceInfo
import android.os.Handler
import android.os.IBinder
import android.os.Looper

/** Rings from the push on, and keeps the app alive until the INVITE is there. Type `phoneCall` in the manifest. */
class CallService : Service() {
    private val handler = Handler(Looper.getMainLooper())

    override fun onBind(intent: Intent?): IBinder? = null

    override fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int {
        val callId = intent?.getStringExtra(CALL_ID)
        if (intent == null || callId == null) {
            stopSelf()
            return START_NOT_STICKY
        }
        when (intent.action) {
            RING -> {
                val name = intent.getStringExtra(NAME) ?: ""
                startForeground(
                    callId.hashCode(), notification(this, callId, name), ServiceInfo.FOREGROUND_SERVICE_TYPE_PHONE_CALL
                )
                // Nobody waits for the phone any more.
                handler.postDelayed({ stopSelf() }, intent.getLongExtra(LEFT, 0))
            }
            ANSWER -> SIP.stack.answer(callId)
            DECLINE -> {
                SIP.stack.decline(callId)
                stopSelf()
            }
        }
        return START_NOT_STICKY
    }

    override fun onDestroy() {
        handler.removeCallbacksAndMessages(null)
        super.onDestroy()
    }

    companion object {
        private const val CHANNEL = "calls"
        private const val CALL_ID = "call-id"
        private const val NAME = "name"
        private const val LEFT = "left"
        const val RING = "ring"
        const val ANSWER = "answer"
        const val DECLINE = "decline"

        fun ring(context: Context, call: PushedCall) {
            val intent = intent(context, RING, call.callId)
            intent.putExtra(NAME, if (call.name.isEmpty()) call.number else call.name)
            intent.putExtra(LEFT, call.expiresAt - System.currentTimeMillis())
            context.startForegroundService(intent)
        }

        /** A message that was lowered may start no service, but a notification rings all the same. */
        fun showWithoutService(context: Context, call: PushedCall) {
            val name = if (call.name.isEmpty()) call.number else call.name
            val manager = context.getSystemService(NotificationManager::class.java)
            manager.notify(call.callId.hashCode(), notification(context, call.callId, name))
        }

        /** The app has one call at a time; one with several counts them. */
        fun end(context: Context, callId: String) {
            context.getSystemService(NotificationManager::class.java).cancel(callId.hashCode())
            context.stopService(Intent(context, CallService::class.java))
        }

        private fun intent(context: Context, action: String, callId: String): Intent =
            Intent(context, CallService::class.java).setAction(action).putExtra(CALL_ID, callId)

        private fun pending(context: Context, action: String, callId: String): PendingIntent =
            PendingIntent.getService(
                context, (action + callId).hashCode(), intent(context, action, callId),
                PendingIntent.FLAG_IMMUTABLE or PendingIntent.FLAG_UPDATE_CURRENT
            )

        private fun notification(context: Context, callId: String, name: String): Notification {
            val manager = context.getSystemService(NotificationManager::class.java)
            manager.createNotificationChannel(
                NotificationChannel(CHANNEL, "Calls", NotificationManager.IMPORTANCE_HIGH)
            )
            val screen = PendingIntent.getActivity(
                context, callId.hashCode(), Intent(context, CallActivity::class.java).putExtra(CALL_ID, callId),
                PendingIntent.FLAG_IMMUTABLE or PendingIntent.FLAG_UPDATE_CURRENT
            )
            val caller = Person.Builder().setName(name).setImportant(true).build()
            val style = Notification.CallStyle.forIncomingCall(
                caller, pending(context, DECLINE, callId), pending(context, ANSWER, callId)
            )
            return Notification.Builder(context, CHANNEL)
                .setSmallIcon(R.drawable.call)
                .setStyle(style)
                .setFullScreenIntent(screen, true)
                .setOngoing(true)
                .build()
        }
    }
}
