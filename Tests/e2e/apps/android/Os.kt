// SPDX-License-Identifier: MIT
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.os

interface IBinder

class Looper {
    companion object {
        fun getMainLooper() = Looper()
    }
}

class Handler(looper: Looper) {
    fun postDelayed(action: () -> Unit, milliseconds: Long) {}
    fun removeCallbacksAndMessages(token: Any?) {}
}
