// SPDX-License-Identifier: MIT
// Apple's frameworks as far as examples/apps/ios uses them, so that a compiler on Linux can check names and types.

import Foundation

public enum Insecure {
    public enum SHA1 {
        /// By openssl's program: a test runs it a few times.
        public static func hash(data: Data) -> Data {
            let process = Process()
            let (input, output) = (Pipe(), Pipe())
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments = ["dgst", "-sha1", "-binary"]
            process.standardInput = input
            process.standardOutput = output
            try? process.run()
            input.fileHandleForWriting.write(data)
            try? input.fileHandleForWriting.close()
            return output.fileHandleForReading.readDataToEndOfFile()
        }
    }
}
