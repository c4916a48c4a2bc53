// SPDX-License-Identifier: MIT
package android.content.pm

class ServiceInfo {
    companion object {
        const val FOREGROUND_SERVICE_TYPE_PHONE_CALL = 4
    }
}
