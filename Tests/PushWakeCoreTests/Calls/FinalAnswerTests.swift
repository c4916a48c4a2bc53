// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@Suite struct `Of several final answers` {
    @Test(arguments: [
        (0, 486, 486), (486, 0, 486), (0, 0, 0), (486, 603, 603), (603, 486, 603), (603, 600, 603), (486, 404, 486),
        (404, 486, 404), (503, 486, 486), (302, 486, 302), (486, 302, 302), (408, 486, 486), (486, 408, 486),
        (404, 407, 407), (415, 486, 415), (503, 500, 500), (500, 503, 500), (408, 500, 408), (180, 480, 480),
        (.min, 480, 480), (.max, 480, .max),
    ])
    func `the caller gets the best one`(first: Int, second: Int, better: Int) {
        #expect(FinalAnswer.better(first, second) == better)
    }

    @Test(arguments: [
        (408, true), (430, true), (478, true), (500, true), (503, true), (486, false), (404, false), (0, false),
    ])
    func `some may be a proxy's about its way`(status: Int, isAboutTheWay: Bool) {
        #expect(FinalAnswer.isAboutTheWay(status) == isAboutTheWay)
    }
}
