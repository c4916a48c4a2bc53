// SPDX-License-Identifier: MIT

import PushWakeCore
import Testing

@testable import PushWakeSimulator
@testable import PushWakeSystem
@testable import PushWakeTransport

@Suite(.serialized) struct `TLS` {
    /// Why a request over these settings gets no answer; nil when it does.
    func problem(
        bench: Workbench, host: String = "127.0.0.1", caFile: String? = nil
    ) throws -> String? {
        let pool = try bench.makePool(host: host, caFile: caFile) { $0.failsFast = true }
        let result = try #require(bench.send(pool))
        return result.response == nil ? result.problem : nil
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `accepts a certificate that names the host`(host: String) throws {
        let bench = try Workbench().serve()
        #expect(try problem(bench: bench, host: host) == nil)
    }

    @Test func `refuses a certificate for another address`() throws {
        let bench = try Workbench().serve(hosts: ["127.0.0.2"])
        #expect(try problem(bench: bench)?.contains("certificate verify failed: IP address mismatch") == true)
        #expect(bench.received.isEmpty)
    }

    @Test func `refuses a certificate for another name`() throws {
        let bench = try Workbench().serve(hosts: ["example.com"])
        let text = try problem(bench: bench, host: "localhost")
        #expect(text?.contains("certificate verify failed: hostname mismatch") == true)
    }

    @Test func `refuses an expired certificate`() throws {
        let bench = try Workbench().serve(days: -1)
        #expect(try problem(bench: bench)?.contains("certificate has expired") == true)
    }

    @Test func `refuses an authority that it was not told to trust`() throws {
        let bench = try Workbench().serve()
        let other = try TemporaryFile.make(CertificateAuthority(name: "Somebody else").pem())
        defer { TemporaryFile.remove(other) }
        let text = try problem(bench: bench, caFile: other)
        #expect(text?.contains("certificate verify failed: it was issued by \"") == true)
        #expect(text?.contains("which is not in ca_file (\(other))") == true)
    }

    @Test func `refuses TLS 1.1`() throws {
        let bench = try Workbench().serve(versions: Workbench.tls10...Workbench.tls11)
        #expect(try problem(bench: bench)?.contains("version") == true)
        #expect(bench.connections.isEmpty)
    }

    @Test func `speaks TLS 1.2 where the server has nothing newer`() throws {
        let bench = try Workbench().serve(versions: Workbench.tls12...Workbench.tls12)
        #expect(try problem(bench: bench) == nil)
    }

    @Test func `names a CA file that cannot be read`() {
        #expect { try TLSContext.client(caFile: "/nonexistent/ca.pem") } throws: {
            ($0 as? TLSError)?.message.contains("/nonexistent/ca.pem") == true
        }
    }

    @Test func `shows its certificate to a server that asks for one`() throws {
        let bench = try Workbench().serve()
        let client = try bench.authority.issueClient(
            "Apple Push Services: com.example.phone", userID: "com.example.phone")
        let identity = try TLSIdentity(certificatePEM: client.certificatePEM + client.keyPEM, keyPEM: client.keyPEM)
        let pool = try bench.makePool(identity: identity)
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(bench.connections.first?.certificate?.subject("UID") == "com.example.phone")
    }

    @Test func `reaches a server through a proxy's tunnel`() throws {
        let bench = try Workbench()
        let server = try #require(bench.serve().server)
        let proxy = try ForwardProxy(loop: bench.loop)
        let pool = try bench.makePool {
            $0.proxy = .init(HTTPOrigin(host: "127.0.0.1", port: proxy.port), authorization: "Basic dTpw")
        }
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(proxy.asked == ["127.0.0.1:\(server.address.port)"])
        #expect(proxy.authorization == "Basic dTpw")
    }

    @Test func `tells what a proxy answered that refuses`() throws {
        let bench = try Workbench().serve()
        let proxy = try ForwardProxy(loop: bench.loop)
        proxy.refuses = true
        let pool = try bench.makePool {
            $0.proxy = .init(HTTPOrigin(host: "127.0.0.1", port: proxy.port))
            $0.failsFast = true
        }
        #expect(bench.send(pool)?.problem == "the proxy wants a name and password, or others: HTTP/1.1 407 Error")
    }
    @Test(arguments: [("", false), ("Basic YTpi", false), ("Basic dTpw", true)])
    func `opens a tunnel only with the name and password that a proxy knows`(authorization: String, isRight: Bool)
        throws
    {
        let bench = try Workbench().serve()
        let proxy = try ForwardProxy(loop: bench.loop)
        proxy.demands = "Basic dTpw"
        let pool = try bench.makePool {
            $0.proxy = .init(HTTPOrigin(host: "127.0.0.1", port: proxy.port), authorization: authorization)
            $0.failsFast = true
        }
        let result = bench.send(pool)
        #expect((result?.response?.status == 200) == isRight)
        #expect(isRight || result?.problem.contains("wants a name and password") == true)
    }

    @Test(arguments: [0, 1, 700]) func `tries again when a proxy goes away half-way`(bytes: Int) throws {
        let bench = try Workbench().serve()
        let proxy = try ForwardProxy(loop: bench.loop)
        proxy.breaksAfter = bytes
        let pool = try bench.makePool { $0.proxy = .init(HTTPOrigin(host: "127.0.0.1", port: proxy.port)) }
        #expect(bench.send(pool)?.response?.status == 200)
        #expect(proxy.asked.count == 2)
        #expect(pool.statistics.connectionsFailed == 1)
    }

    @Test func `says so when no proxy listens`() throws {
        let bench = try Workbench().serve()
        let pool = try bench.makePool {
            $0.proxy = .init(HTTPOrigin(host: "127.0.0.1", port: 1))
            $0.failsFast = true
        }
        let result = bench.send(pool)
        #expect(result?.response == nil)
        #expect(result?.problem.isEmpty == false)
    }

    @Test func `reaches through a proxy what is private only where that is allowed`() throws {
        for refuses in [true, false] {
            let bench = try Workbench().serve()
            let proxy = try ForwardProxy(loop: bench.loop)
            let pool = try bench.makePool {
                $0.proxy = .init(HTTPOrigin(host: "127.0.0.1", port: proxy.port))
                $0.refusesLocalAddresses = refuses
                $0.failsFast = true
            }
            #expect((bench.send(pool)?.response?.status == 200) == !refuses)
            #expect(proxy.asked.isEmpty == refuses)
        }
    }
}
