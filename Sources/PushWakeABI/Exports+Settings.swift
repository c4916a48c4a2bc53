// SPDX-License-Identifier: MIT

// Versions, names, and the settings as a host fills them in.

public import CPushWake
internal import CRelease
internal import PushWakeClient
internal import PushWakeCore
internal import PushWakeEngine

@_cdecl("pushwake_abi_version") @implementation
public func pushwake_abi_version() -> CInt { PUSHWAKE_ABI_VERSION }

@_cdecl("pushwake_version") @implementation
public func pushwake_version() -> UnsafePointer<CChar>! { crelease_version() }

@_cdecl("pushwake_status_name") @implementation
public func pushwake_status_name(_ status: CInt) -> UnsafePointer<CChar>! {
    switch status {
    case PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue: staticText("invalid argument")
    case PUSHWAKE_ERR_CONFIG.rawValue: staticText("wrong setting")
    case PUSHWAKE_ERR_UNAVAILABLE.rawValue: staticText("engine unavailable")
    case PUSHWAKE_ERR_TIMEOUT.rawValue: staticText("engine too slow")
    case PUSHWAKE_ERR_TOO_LARGE.rawValue: staticText("too large")
    case PUSHWAKE_ERR_REFUSED.rawValue: staticText("refused")
    case PUSHWAKE_ERR_NOT_FOUND.rawValue: staticText("not found")
    case 0...: staticText("ok")
    default: staticText("unknown error")
    }
}

@_cdecl("pushwake_setting_at") @implementation
public func pushwake_setting_at(_ out: UnsafeMutablePointer<pushwake_setting>!, _ index: Int) -> CInt {
    guard let out, isWhole(out) else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    if let key = SettingKey(rawValue: index) {
        let row = SettingsTable.description(of: key)
        let type = row.isInteger ? PUSHWAKE_SETTING_INTEGER : PUSHWAKE_SETTING_TEXT
        fill(&out.pointee, row.name, type, row.defaultValue, row.unit, row.help)
    } else {
        let index = index &- SettingKey.allCases.count
        guard RemovedSetting.all.indices.contains(index) else { return PUSHWAKE_ERR_NOT_FOUND.rawValue }
        let row = RemovedSetting.all[index]
        fill(&out.pointee, row.name, PUSHWAKE_SETTING_REMOVED, "", "", row.remedy)
    }
    return 0
}

private func fill(
    _ out: inout pushwake_setting, _ name: StaticString, _ type: pushwake_setting_type, _ value: StaticString,
    _ unit: StaticString, _ help: StaticString
) {
    (out.name, out.type) = (staticText(name), CInt(type.rawValue))
    (out.default_value, out.unit, out.help) = (staticText(value), staticText(unit), staticText(help))
}

@_cdecl("pushwake_settings_new") @implementation
public func pushwake_settings_new(_ out: UnsafeMutablePointer<OpaquePointer?>!) -> CInt {
    guard let out else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    out.pointee = give(SettingsHandle())
    return 0
}

@_cdecl("pushwake_settings_free") @implementation
public func pushwake_settings_free(_ settings: OpaquePointer!) { _ = take(settings, as: SettingsHandle.self) }

@_cdecl("pushwake_settings_set") @implementation
public func pushwake_settings_set(_ settings: OpaquePointer!, _ name: pushwake_str, _ value: pushwake_str) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    do throws(SettingError) {
        try handle.settings.set(name.string, to: value.string)
        handle.source?.set(name.string, to: value.string)
        return 0
    } catch {
        handle.error = "\(error.setting): \(error.message)"
        return PUSHWAKE_ERR_CONFIG.rawValue
    }
}

@_cdecl("pushwake_settings_file") @implementation
public func pushwake_settings_file(_ settings: OpaquePointer!, _ path: pushwake_str) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let source = SettingsSource(path: path.string)
    do throws(SettingsSource.Failure) {
        handle.settings = try source.read()
        handle.source = source
        return 0
    } catch {
        handle.error = error.lines.joined(separator: "\n")
        return PUSHWAKE_ERR_CONFIG.rawValue
    }
}

@_cdecl("pushwake_settings_text") @implementation
public func pushwake_settings_text(_ settings: OpaquePointer!, _ name: pushwake_str) -> pushwake_str {
    guard let handle = borrow(settings, as: SettingsHandle.self), let text = handle.settings.text(named: name.string)
    else { return pushwake_str() }
    handle.arena.clear()
    return handle.arena.keep(text)
}

@_cdecl("pushwake_settings_replace") @implementation
public func pushwake_settings_replace(_ settings: OpaquePointer!, _ earlier: OpaquePointer!) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self),
        let earlier = borrow(earlier, as: SettingsHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    handle.host = earlier.host
    return handle.settings == earlier.settings ? 1 : 0
}

@_cdecl("pushwake_settings_trial") @implementation
public func pushwake_settings_trial(
    _ settings: OpaquePointer!, _ earlier: OpaquePointer!, _ on_problem: pushwake_problem_fn!,
    _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self),
        let earlier = borrow(earlier, as: SettingsHandle.self)
    else { return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue }
    let problems = EngineTrial.problems(of: handle.settings, insteadOf: earlier.settings)
    let arena = TextArena()
    for problem in problems {
        on_problem?(
            context, CInt(PUSHWAKE_LOG_ERROR.rawValue), arena.keep(problem.setting), arena.keep(problem.message))
    }
    return CInt(clamping: problems.count)
}

@_cdecl("pushwake_settings_integer") @implementation
public func pushwake_settings_integer(_ settings: OpaquePointer!, _ name: pushwake_str) -> Int64 {
    guard let handle = borrow(settings, as: SettingsHandle.self), let key = SettingsTable.key(named: name.string)
    else { return 0 }
    return handle.settings.integer(key)
}

@_cdecl("pushwake_settings_check") @implementation
public func pushwake_settings_check(
    _ settings: OpaquePointer!, _ on_problem: pushwake_problem_fn!, _ context: UnsafeMutableRawPointer!
) -> CInt {
    guard let handle = borrow(settings, as: SettingsHandle.self) else {
        return PUSHWAKE_ERR_INVALID_ARGUMENT.rawValue
    }
    let findings = SettingsInspection.inspect(handle.settings, depth: .values)
    handle.said = findings.map { "\($0.setting): \($0.message)" }
    let arena = TextArena()
    for finding in findings {
        on_problem?(context, CInt(finding.level.rawValue), arena.keep(finding.setting), arena.keep(finding.message))
    }
    return CInt(clamping: findings.count { $0.level == .error })
}

@_cdecl("pushwake_settings_error") @implementation
public func pushwake_settings_error(_ settings: OpaquePointer!) -> pushwake_str {
    guard let handle = borrow(settings, as: SettingsHandle.self) else { return pushwake_str() }
    handle.errorArena.clear()
    return handle.errorArena.keep(handle.error)
}

@_cdecl("pushwake_event_name") @implementation
public func pushwake_event_name(_ event: CInt) -> UnsafePointer<CChar>! {
    switch UInt8(exactly: event).flatMap(PushEvent.init(rawValue:)) {
    case .call: staticText("call")
    case .chat: staticText("chat")
    case .cancel: staticText("cancel")
    case .custom: staticText("custom")
    case .refresh: staticText("refresh")
    case .missed: staticText("missed")
    case .answeredElsewhere: staticText("elsewhere")
    case .groupChat: staticText("group-chat")
    case .voicemail: staticText("voicemail")
    case .refer: staticText("refer")
    case nil: staticText("unknown")
    }
}

@_cdecl("pushwake_outcome_name") @implementation
public func pushwake_outcome_name(_ outcome: CInt) -> UnsafePointer<CChar>! {
    switch UInt8(exactly: outcome).flatMap(Outcome.init(rawValue:)) {
    case .accepted: staticText("accepted")
    case .tokenGone: staticText("token-gone")
    case .rejected: staticText("rejected")
    case .throttled: staticText("throttled")
    case .unavailable: staticText("unavailable")
    case .misconfigured: staticText("misconfigured")
    case .expired: staticText("expired")
    case .overloaded: staticText("overloaded")
    case nil: staticText("unknown")
    }
}
