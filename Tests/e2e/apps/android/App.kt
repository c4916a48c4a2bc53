// SPDX-License-Identifier: MIT
// As much of Android as examples/apps/android uses, so that a compiler can check the names and types there.
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.app

import android.content.Context
import android.content.Intent
import android.os.IBinder

abstract class Service : Context() {
    abstract fun onBind(intent: Intent?): IBinder?
    open fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int = 0
    open fun onDestroy() {}
    fun stopSelf() {}
    fun startForeground(id: Int, notification: Notification, type: Int) {}

    companion object {
        const val START_NOT_STICKY = 2
    }
}

open class Activity : Context()

class PendingIntent {
    companion object {
        const val FLAG_IMMUTABLE = 1
        const val FLAG_UPDATE_CURRENT = 2
        fun getService(context: Context, code: Int, intent: Intent, flags: Int) = PendingIntent()
        fun getActivity(context: Context, code: Int, intent: Intent, flags: Int) = PendingIntent()
    }
}

class Person {
    class Builder {
        fun setName(name: CharSequence) = this
        fun setImportant(isImportant: Boolean) = this
        fun build() = Person()
    }
}

class NotificationChannel(id: String, name: CharSequence, importance: Int)

class NotificationManager {
    fun createNotificationChannel(channel: NotificationChannel) {}
    fun notify(id: Int, notification: Notification) {}
    fun cancel(id: Int) {}

    companion object {
        const val IMPORTANCE_HIGH = 4
    }
}

class Notification {
    abstract class Style

    class CallStyle : Style() {
        companion object {
            fun forIncomingCall(person: Person, decline: PendingIntent, answer: PendingIntent) = CallStyle()
        }
    }

    class Builder(context: Context, channel: String) {
        fun setSmallIcon(icon: Int) = this
        fun setStyle(style: Style) = this
        fun setFullScreenIntent(intent: PendingIntent, isUrgent: Boolean) = this
        fun setOngoing(isOngoing: Boolean) = this
        fun build() = Notification()
    }
}
