// SPDX-License-Identifier: MIT

/// One push: the token it goes to, and what it is about.
///
/// A class, because it goes through many hands and holds a dozen texts: handing it on costs one reference.
public final class Push: Sendable {
    public let binding: Binding
    public let content: PushContent

    public init(_ binding: Binding, _ content: PushContent) {
        self.binding = binding
        self.content = content
    }
}
