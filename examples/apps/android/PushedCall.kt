// SPDX-License-Identifier: MIT
package com.example.phone

import java.nio.ByteBuffer
import java.security.MessageDigest
import java.util.UUID

/** A call as a push announces it: the payload "plain" of PushWake, of which Google delivers texts alone. */
data class PushedCall(
    val callId: String,
    /** Names the call, whether push or INVITE comes first. */
    val uuid: UUID,
    /** Number or name of the caller's account; empty when it is withheld. */
    val number: String,
    val name: String,
    val hasVideo: Boolean,
    /** Milliseconds since 1970, after which nobody waits for the phone any more. */
    val expiresAt: Long
) {
    companion object {
        /** Null for a push without a call. */
        fun from(data: Map<String, String>): PushedCall? {
            val callId = data["call-id"]
            if (callId.isNullOrEmpty()) return null
            return PushedCall(
                callId, uuidOf(callId), data["from-user"] ?: "", data["display-name"] ?: "", data["has_video"] == "true",
                (data["expires-at"]?.toLongOrNull() ?: 0) * 1000
            )
        }

        /** Of an INVITE: its Call-ID, or X-Push-ID where it has one. */
        fun uuidOf(callId: String): UUID {
            val space = UUID.fromString("345198a0-fbeb-40ca-a578-6948d80653dd")
            val name = ByteBuffer.allocate(16).putLong(space.mostSignificantBits).putLong(space.leastSignificantBits)
            val digest = ByteBuffer.wrap(MessageDigest.getInstance("SHA-1").digest(name.array() + callId.toByteArray()))
            val (high, low) = Pair(digest.long, digest.long)
            return UUID(high and 0xF000L.inv() or 0x5000L, low and (3L shl 62).inv() or (1L shl 63))
        }
    }
}
