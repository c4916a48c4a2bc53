// SPDX-License-Identifier: MIT

extension SequencePicture {
    private static let columnWidth = 145
    private static let rowHeight = 34
    private static let lineHeight = 14
    private static let margin = 104
    private static let top = 46
    /// Width of a letter at most, for what fits into a line.
    private static let letter = 7
    /// Milliseconds of silence that are marked.
    private static let longPause: Int64 = 1000

    /// Where a step stands.
    private struct Place {
        let step: Step
        let lines: [String]
        let y: Int
        /// Silence before it, and where that is said.
        let pause: (milliseconds: Int64, y: Int)?
    }

    private var width: Int { Self.margin + Self.columnWidth * columns.count }

    /// Writes it as SVG; `title` is what a screen reader says of it.
    public func draw(_ title: String, into html: inout HTMLText) { draw(title, "", into: &html) }

    /// The same as a file of its own, with its colours.
    public func document(_ title: String) -> String {
        var html = HTMLText()
        draw(title, PageAssets.tokens + PageAssets.picture, into: &html)
        return html.text
    }

    private func draw(_ title: String, _ style: String, into html: inout HTMLText) {
        let places = places
        let height = (places.last?.y ?? Self.top) + Self.rowHeight
        html.markup("<svg class=\"sequence\" role=\"img\"")
        if !style.isEmpty { html.attribute("xmlns", "http://www.w3.org/2000/svg") }
        html.attribute("viewBox", "0 0 \(width) \(height)")
        html.attribute("width", String(width))
        html.attribute("height", String(height))
        html.attribute("aria-label", title)
        html.markup(">")
        if !style.isEmpty {
            html.element("style", style)
            path("M0,0H\(width)V\(height)H0z", "ground", &html)
        }
        for (index, column) in columns.enumerated() {
            label(x(index), 20, [column], "column", &html)
            path("M\(x(index)),30V\(height - 10)", "life", &html)
        }
        for place in places { draw(place, &html) }
        html.markup("</svg>")
    }

    private var places: [Place] {
        var y = Self.top
        var last: Int64 = 0
        return steps.map { step in
            let lines = wrapped(step)
            var pause: (milliseconds: Int64, y: Int)?
            if step.at - last >= Self.longPause {
                pause = (step.at - last, y + Self.rowHeight - 8)
                y += Self.rowHeight - 4
            }
            y += Self.rowHeight + (lines.count - 1) * Self.lineHeight
            last = max(last, step.at)
            return Place(step: step, lines: lines, y: y, pause: pause)
        }
    }

    private func x(_ column: Int) -> Int { Self.margin + Self.columnWidth * column + Self.columnWidth / 2 - 40 }

    private func draw(_ place: Place, _ html: inout HTMLText) {
        let (step, y, style) = (place.step, place.y, place.step.kind.rawValue)
        if let pause = place.pause {
            path("M6,\(pause.y - 4)H\(width - 6)", "pause", &html)
            label(width / 2, pause.y - 9, ["\(TraceText.duration(pause.milliseconds)) later"], "label soft", &html)
        }
        let (start, end) = (x(step.from), x(step.to))
        // The last line of a label stands on its arrow; a note begins at its dot.
        let first = y - (place.lines.count - 1) * Self.lineHeight
        label(6, start == end ? first : y, ["+\(step.at) ms"], "time", &html)
        guard start != end else {
            html.markup("<circle r=\"4\"")
            html.attribute("class", style)
            html.attribute("cx", String(start))
            html.attribute("cy", String(first - 4))
            html.markup("></circle>")
            return label(start + 10, first, place.lines, "soft", &html)
        }
        path("M\(start),\(y)H\(end)", style, &html)
        path("M\(end),\(y)l\(end > start ? -8 : 8),-5v10z", "tip \(style)", &html)
        label((start + end) / 2, first - 6, place.lines, "label", &html)
    }

    /// A label in lines that fit between its columns, or beside its own.
    private func wrapped(_ step: Step) -> [String] {
        let (start, end) = (x(step.from), x(step.to))
        let room = start == end ? width - start - 10 : abs(end - start) - 24
        let most = max(8, room / Self.letter)
        var lines: [String] = [""]
        for word in step.label.split(separator: " ") {
            var rest = word[...]
            while !rest.isEmpty {
                let gap = lines[lines.count - 1].isEmpty ? 0 : 1
                if lines[lines.count - 1].count + gap + min(rest.count, most) > most { lines.append("") }
                if !lines[lines.count - 1].isEmpty { lines[lines.count - 1] += " " }
                lines[lines.count - 1] += rest.prefix(most)
                rest = rest.dropFirst(most)
            }
        }
        return lines
    }

    private func path(_ path: String, _ style: String, _ html: inout HTMLText) {
        html.markup("<path")
        html.attribute("class", style)
        html.attribute("d", path)
        html.markup("></path>")
    }

    private func label(_ x: Int, _ y: Int, _ lines: [String], _ style: String, _ html: inout HTMLText) {
        for (index, line) in lines.enumerated() {
            html.markup("<text")
            html.attribute("class", style)
            html.attribute("x", String(x))
            html.attribute("y", String(y + index * Self.lineHeight))
            html.markup(">")
            html.value(line)
            html.markup("</text>")
        }
    }

    // MARK: Upright

    /// Writes it as a list from above to below, for narrow windows.
    public func list(into html: inout HTMLText) {
        html.markup("<ol class=\"flow\">")
        var last: Int64 = 0
        for step in steps {
            if step.at - last >= Self.longPause {
                html.element("li", "\(TraceText.duration(step.at - last)) later", class: "pause")
            }
            last = max(last, step.at)
            html.markup("<li")
            html.attribute("class", step.kind.rawValue)
            html.markup("><span class=\"when\">+")
            html.value("\(step.at) ms")
            html.markup("</span> ")
            if step.from != step.to { html.value("\(columns[step.from]) → \(columns[step.to]): ") }
            html.value(step.label)
            html.markup("</li>")
        }
        html.markup("</ol>")
    }
}
