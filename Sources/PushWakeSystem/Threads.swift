// SPDX-License-Identifier: MIT

private import CLinux

/// A lock between the threads of one process; whoever holds it asks nobody and soon gives it back.
public final class Lock {
    /// At a fixed address, as mutexes want it.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    /// Held by nobody.
    public init() { pthread_mutex_init(mutex, nil) }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Waits until nobody else holds it.
    public func lock() { pthread_mutex_lock(mutex) }

    /// Gives it back.
    public func unlock() { pthread_mutex_unlock(mutex) }
}

/// A place where each thread has an object of its own, which goes with the thread.
///
/// It stays for as long as the process, and so must the code of the object: libpushwake is never unloaded.
public final class ThreadSlot<Value: AnyObject>: @unchecked Sendable {
    private let key: pthread_key_t

    /// Nil when the process has too many such places.
    public init?() {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { object in
            guard let object else { return }
            Unmanaged<AnyObject>.fromOpaque(object).release()
        }
        guard code == 0 else { return nil }
        self.key = key
    }

    /// What this thread has kept; nil before it has.
    public var value: Value? {
        pthread_getspecific(key).map { Unmanaged<Value>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Keeps an object for this thread, once; false when memory is short.
    public func keep(_ value: Value) -> Bool {
        let object = Unmanaged.passRetained(value)
        if pthread_setspecific(key, object.toOpaque()) == 0 { return true }
        object.release()
        return false
    }
}
