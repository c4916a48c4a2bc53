// SPDX-License-Identifier: MIT
@file:Suppress("UNUSED_PARAMETER", "unused")

package android.content

abstract class Context {
    fun <T : Any> getSystemService(type: Class<T>): T = type.getDeclaredConstructor().newInstance()
    fun startForegroundService(intent: Intent) {}
    fun stopService(intent: Intent) {}
}

class Intent(context: Context, type: Class<*>) {
    var action: String? = null
        private set
    private val extras = mutableMapOf<String, Any>()

    fun setAction(action: String) = apply { this.action = action }
    fun putExtra(name: String, value: String) = apply { extras[name] = value }
    fun putExtra(name: String, value: Long) = apply { extras[name] = value }
    fun getStringExtra(name: String): String? = extras[name] as? String
    fun getLongExtra(name: String, otherwise: Long): Long = extras[name] as? Long ?: otherwise
}
