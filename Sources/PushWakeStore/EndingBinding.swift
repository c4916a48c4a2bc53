// SPDX-License-Identifier: MIT

public import PushWakeCore

/// A binding and its place in the order in which registrations end.
public struct EndingBinding: Equatable, Sendable {
    public let binding: Binding
    public let place: EndPlace

    public init(binding: Binding, place: EndPlace) {
        self.binding = binding
        self.place = place
    }
}
