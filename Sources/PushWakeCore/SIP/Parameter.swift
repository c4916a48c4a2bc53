// SPDX-License-Identifier: MIT

/// One `;name=value`: where its name and value are.
struct Parameter {
    let name: Range<Int>
    /// Without the quotes around it; empty when there is none.
    let value: Range<Int>
    let form: Form

    /// How the value is written.
    enum Form {
        /// `;name`
        case absent
        /// `;name=value`
        case plain
        /// `;name="value"`, backslashes still in it.
        case quoted
    }
}
