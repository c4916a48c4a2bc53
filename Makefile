# SPDX-License-Identifier: MIT
# GNU make. `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
PYTHON  ?= /usr/bin/python3
SWIFT   ?= swift

# Empty: as scripts/make/install.sh chooses.
LIBDIR           ?=
RUN_AS           ?=
KAMAILIO_MODULES ?=

# A chroot takes root.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

# What test-packages installs into.
SUITES ?= bookworm trixie

STAGE := .build/stage

# 1: what Swift makes is in $(STAGE) already, made on a host that has Swift.
PREBUILT ?=
SETUP    := scripts/make/setup.sh $(if $(PREBUILT),--prebuilt)

.DEFAULT_GOAL := help
.PHONY: help setup setup-test setup-bench build build-swift build-kamailio build-asterisk build-tests deb tarball repository release test-packages \
    demo test test-unit test-sockets setup-demo test-abi test-arm64 test-e2e e2e-together e2e-alone suites-alone test-kamailio \
    kamailio-trixie kamailio-sid stores-trixie test-phones test-asterisk test-asterisk-sanitized asterisk-together asterisk-alone test-docs demo-asterisk \
    demo-gateway demo-nodes docs install install-common uninstall bench proof load endure function-order fuzz format lint clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /  \1 \t/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install what building needs (apt packages, Kamailio's headers)
	@$(SETUP)

setup-demo: ## install what building and the demos need
	@$(SETUP) --demo

setup-bench: ## install what measuring needs, and build the peers
	@scripts/make/setup.sh --bench
	@$(MAKE) --no-print-directory -C Benchmarks

setup-test: ## install what building and testing need
	@$(SETUP) --test

build: setup ## release build into .build/stage: library, program, Kamailio's module
	@$(MAKE) --no-print-directory build-swift
	@$(MAKE) --no-print-directory build-kamailio

# These three install nothing: for hosts that have all it takes, and for packages.
build-swift: ## library and program alone
	@SWIFT="$(SWIFT)" PYTHON="$(PYTHON)" PREBUILT="$(PREBUILT)" scripts/make/build-swift.sh

function-order: setup-bench ## write anew in which order the library's functions stand (needs setup-test; then build again)
	@MAKE="$(MAKE)" PYTHON="$(PYTHON)" scripts/bench/function-order.sh

build-kamailio: ## Kamailio's module alone (needs build-swift)
	@mkdir -p $(STAGE)/lib/kamailio
	@$(MAKE) --no-print-directory -s -C kamailio-glue PREFIX=$(PREFIX)
	@install -m 644 kamailio-glue/pushwake.so $(STAGE)/lib/kamailio/pushwake.so

build-asterisk: ## library, program and Asterisk's module, where asterisk-dev is; no Kamailio
	@$(SETUP) --asterisk
	@$(MAKE) --no-print-directory build-swift
	@mkdir -p $(STAGE)/lib/asterisk
	@$(MAKE) --no-print-directory -s -C asterisk-glue
	@install -m 644 asterisk-glue/build/res_pushwake.so $(STAGE)/lib/asterisk/res_pushwake.so

deb: build ## Debian packages for this release into .build/deb
	@$(SETUP) --packages
	@scripts/make/deb.sh

demo: setup-demo build ## a sleeping phone rings behind a real Kamailio
	$(PYTHON) scripts/demo/demo.py

demo-nodes: setup-demo build ## the same behind two Kamailios that share bindings in Valkey or Redis
	$(PYTHON) scripts/demo/demo-nodes.py

demo-asterisk: setup-demo build ## the same behind a real Asterisk 22, in a chroot (needs root)
	$(AS_ROOT) $(PYTHON) scripts/demo/demo-asterisk.py

demo-gateway: setup-demo build ## a phone registered through a gateway rings behind an untouched Asterisk 22, in a chroot (needs root)
	$(AS_ROOT) $(PYTHON) scripts/demo/demo-gateway.py

# What is independent runs side by side, since most of it waits; what measures comes last and has the machine to itself.
SIDE_BY_SIDE := MAKE="$(MAKE)" $(PYTHON) scripts/make/side_by_side.py

# Both builds at once: each of them waits for single modules.
test: setup-test ## everything: unit tests, ABI checks, end to end
	@$(MAKE) --no-print-directory -j2 build build-tests
	@$(SIDE_BY_SIDE) $(TOGETHER) test-unit test-docs -- test-abi test-arm64 $(ALONE)

build-tests:
	@scripts/make/unmoved.sh debug
	$(SWIFT) build --build-tests

# Much of what is tested waits for sockets and timers, which may be late beside others. What fails beside others, and what
# measures and fails, is made once more with the machine to itself, and named: what fails then fails the run.
TOGETHER := e2e-together asterisk-together kamailio-trixie-together stores-trixie-together
ALONE    := suites-alone e2e-alone asterisk-alone kamailio-trixie-alone stores-trixie-alone

# A process for each: tests that wait on sockets hold Swift's few threads.
# The engine's are the longest: those of the files from A to D, and the others.
SOCKET_SUITES := $(addprefix suite-,$(addsuffix -together,Engine-A-D Engine-E-Z Store Transport Simulator))
TOGETHER += $(SOCKET_SUITES)

# The slowest suite takes four minutes and the slowest test one, on a busy machine.
RUN_SUITES := timeout -k 10 900 .build/debug/PushWakePackageTests.xctest --testing-library swift-testing --quiet --filter

test-unit: suite-Core suite-Fuzz ## Swift tests without sockets, files and waiting

suite-Core suite-Fuzz: suite-%: build-tests
	@$(RUN_SUITES) '^PushWake$*Tests'

test-sockets: build-tests ## the other Swift tests
	@$(SIDE_BY_SIDE) $(SOCKET_SUITES) -- suites-alone

FAILED_SUITES := .build/suites-failed
define suite-together
	@rm -f $(FAILED_SUITES)/$@; $(RUN_SUITES) $(1) || { mkdir -p $(FAILED_SUITES) && printf '%s\n' $(1) > $(FAILED_SUITES)/$@; }
endef

suite-Engine-%-together: build-tests
	$(call suite-together,'^PushWakeEngineTests\..*/[$*][A-Za-z0-9+]*\.swift:')

suite-%-together: build-tests
	$(call suite-together,'^PushWake$*Tests')

suites-alone: build-tests
	@for suite in $(FAILED_SUITES)/*; do \
	    [ -e "$$suite" ] || continue; \
	    echo "---- failed beside others, once more: $${suite##*/}"; $(RUN_SUITES) "$$(cat $$suite)" || exit; rm "$$suite"; \
	done

test-abi: ## the shipped library against its header (needs build)
	@if [ -x Tests/abi/run ]; then Tests/abi/run; fi

test-asterisk: ## real Asterisk 22, or that of the directory ASTERISK_SOURCE, in a chroot (needs build, root)
	@$(SIDE_BY_SIDE) asterisk-together -- asterisk-alone

test-e2e: ## real Kamailio, SIPp and the simulator (needs build)
	@$(SIDE_BY_SIDE) e2e-together -- e2e-alone

# Arguments: a name for what failed; what stands before the command; arguments and tests.
PYTEST = $(PYTHON) -m pytest -q --timeout 240 -o cache_dir=$(CURDIR)/.build/pytest/$(1)
FAILED = .build/pytest/$(1)/v/cache/lastfailed
TESTS_FAILED := 1
define first-run
rm -rf .build/pytest/$(1); $(2) $(call PYTEST,$(1)) --dist loadgroup $(3) || [ $$? = $(TESTS_FAILED) ]
endef
# Tests that run together are named with their group, and by themselves without: pytest would take none of them for the failed ones.
define once-more
! [ -s $(FAILED) ] || { echo "---- failed, once more:"; sed -i -E 's/@[A-Za-z0-9_.-]+"(: true)/"\1/' $(FAILED); \
	    $(2) $(call PYTEST,$(1)) -v --last-failed --last-failed-no-failures none $(3); }
endef

# More workers than cores: the tests wait for most of their time.
e2e-together:
	@$(call first-run,e2e,,-m 'not alone' -n 6 Tests/e2e)

e2e-alone:
	@$(call first-run,e2e-alone,,-m alone Tests/e2e)
	@$(call once-more,e2e-alone,,-m alone Tests/e2e)
	@$(call once-more,e2e,,Tests/e2e)

# Before the tests, whose time is bounded: it takes minutes the first time.
IN_ASTERISK_CHROOT = root=$$($(AS_ROOT) scripts/chroot/asterisk-chroot.sh) \
    && $(AS_ROOT) $(MAKE) --no-print-directory -s -C asterisk-glue ASTERISK_ROOT="$$(realpath "$$root")" || exit;

asterisk-together:
	@$(IN_ASTERISK_CHROOT) $(call first-run,e2e-asterisk,$(AS_ROOT),-m 'not alone' -n 3 Tests/e2e-asterisk)

asterisk-alone:
	@$(IN_ASTERISK_CHROOT) $(call first-run,e2e-asterisk-alone,$(AS_ROOT),-m alone Tests/e2e-asterisk)
	@$(call once-more,e2e-asterisk-alone,$(AS_ROOT),-m alone Tests/e2e-asterisk)
	@$(call once-more,e2e-asterisk,$(AS_ROOT),Tests/e2e-asterisk)

test-asterisk-sanitized: ## what Asterisk's module does in calls, under AddressSanitizer (needs build, root)
	@$(AS_ROOT) scripts/chroot/asterisk-chroot.sh && $(AS_ROOT) env SANITIZED=1 $(call PYTEST,asterisk-sanitized) \
	    -n 2 --dist loadgroup Tests/e2e-asterisk/legs Tests/e2e-asterisk/calls

# Run on the later releases as well; app_lua, tls and the like are there.
KAMAILIO_CORE = $(wildcard $(addprefix Tests/e2e/*/test_,$(addsuffix .py,silent dead_connection no_answer push_failure one_device cancel ends \
	routes forwarding relay_failure messages registrar_settings refresh in_dialog several call_again provisional stock accounting)))
IN_KAMAILIO_CHROOT = root=$$($(AS_ROOT) scripts/chroot/kamailio-chroot.sh $*) || exit;
WITH_KAMAILIO      = $(AS_ROOT) env KAMAILIO_ROOT=$$root KAMAILIO_MODULE=$$root/pushwake/pushwake.so

test-kamailio: kamailio-trixie kamailio-sid ## the core of test-e2e on Kamailio 6.0 and 6.1, in chroots (needs build, root)

kamailio-trixie kamailio-sid: kamailio-%:
	@$(SIDE_BY_SIDE) kamailio-$*-together -- kamailio-$*-alone

kamailio-%-together:
	@$(IN_KAMAILIO_CHROOT) $(call first-run,kamailio-$*,$(WITH_KAMAILIO),-n 3 $(KAMAILIO_CORE))

kamailio-%-alone:
	@$(IN_KAMAILIO_CHROOT) $(call once-more,kamailio-$*,$(WITH_KAMAILIO),$(KAMAILIO_CORE))

# What nodes share, as later releases have it: the store's suites with both servers, and nodes with Valkey.
SHARED_SUITES := '^PushWakeStoreTests\..*/(Valkey[A-Za-z]*|NodeNameTests|BindingStoreContractTests|DeviceContractTests|PURRContractTests)\.swift:'
SHARED_TESTS  := Tests/e2e/nodes/test_nodes_cluster.py Tests/e2e/nodes/test_nodes_secured.py
IN_STORES_CHROOT = servers=$$($(AS_ROOT) scripts/chroot/store-servers.sh $*) || exit;
WITH_VALKEY      = PUSHWAKE_VALKEY=$$servers/valkey-server

stores-trixie: stores-%: ## the shared store on the Valkey and Redis of a later Debian (needs build, root)
	@$(SIDE_BY_SIDE) stores-$*-together -- stores-$*-alone

FAILED_STORES := .build/stores-failed
RUN_SHARED     = PUSHWAKE_VALKEY=$$servers/$$server-server $(RUN_SUITES) $(SHARED_SUITES)

stores-%-together: build-tests
	@rm -rf $(FAILED_STORES)/$*; $(IN_STORES_CHROOT) for server in valkey redis; do \
	        echo "---- $$($$servers/$$server-server --version)"; \
	        $(RUN_SHARED) || { mkdir -p $(FAILED_STORES)/$* && touch $(FAILED_STORES)/$*/$$server; }; \
	    done; $(call first-run,stores-$*,$(WITH_VALKEY),-n 2 $(SHARED_TESTS))

stores-%-alone: build-tests
	@$(IN_STORES_CHROOT) for server in valkey redis; do \
	        [ -e $(FAILED_STORES)/$*/$$server ] || continue; \
	        echo "---- failed beside others, once more: $$server"; $(RUN_SHARED) || exit; rm $(FAILED_STORES)/$*/$$server; \
	    done; $(call once-more,stores-$*,$(WITH_VALKEY),$(SHARED_TESTS))

tarball: build-swift ## for hosts with another Linux, Kamailio or Asterisk: library, program, glues' sources, into .build/tarball
	@scripts/make/tarball.sh

# Made with the packages of Debian's releases, which chroots build.
repository: build ## a signed apt repository into .build/repository, with the packages for SUITES (needs root)
	@$(SETUP) --packages
	@for suite in $(SUITES); do $(AS_ROOT) scripts/chroot/deb-chroot.sh $$suite || exit 1; done
	@scripts/make/repository.sh .build/repository $(foreach suite,$(SUITES),$(suite:asterisk=sid)=.build/deb-$(suite))

release: ## test, tag and pack the version that CHANGELOG.md names first; refuses a dirty tree and a failing test
	@MAKE="$(MAKE)" scripts/make/release.sh

test-arm64: ## all that is C, compiled for ARM64
	@scripts/make/arm64.sh

# Other releases than this one build the C module and the packages in a chroot, around the same Swift output.
test-packages: build ## packages, repository and tarball in fresh Debian 11 to 13 and sid: install, ring, upgrade, go back, purge; two builds are the same (needs root)
	@$(SETUP) --test-packages
	@for suite in $(SUITES) asterisk; do $(AS_ROOT) scripts/chroot/deb-chroot.sh $$suite || exit 1; done
	@scripts/make/tarball.sh
	$(AS_ROOT) env PUSHWAKE_SUITES="$(SUITES)" $(PYTHON) -m pytest -q -p no:cacheprovider Tests/packages

test-phones: ## PJSIP, Linphone and baresip at a real Kamailio, at an Asterisk, and through the gateway (needs build, root)
	@scripts/make/setup.sh --phones
	$(AS_ROOT) $(PYTHON) -m pytest -q -p no:cacheprovider Tests/phones

docs: build ## write docs/settings.md from the settings table
	$(STAGE)/bin/pushwake settings > docs/settings.md

test-docs: ## what the documents name exists, settings.md is what the settings table says, files of a glue use none in a circle (needs build)
	@$(PYTHON) scripts/docs/check_references.py
	@$(MAKE) --no-print-directory -s -C kamailio-glue circles
	@$(STAGE)/bin/pushwake settings | diff -u docs/settings.md - || { echo "run: make docs"; exit 1; }

INSTALL = PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" KAMAILIO_MODULES="$(KAMAILIO_MODULES)" RUN_AS="$(RUN_AS)" \
    scripts/make/install.sh

install: ## copy the build to $(DESTDIR)$(PREFIX) and Kamailio's module directory
	@$(INSTALL) common kamailio host

install-common: ## library, program, manuals and completions alone
	@$(INSTALL) common

uninstall: ## remove what install copied
	@$(INSTALL) uninstall

bench: build setup-bench ## CPU per push against a bare nghttp2 client and others, per woken call against tsilo; what an open page costs; provider overload; pushes through random faults
	$(PYTHON) scripts/bench/bench.py
	$(PYTHON) scripts/bench/bench_calls.py
	$(PYTHON) scripts/bench/bench_nodes.py
	$(PYTHON) scripts/bench/bench_page.py
	$(PYTHON) scripts/bench/bench_overload.py
	$(PYTHON) scripts/bench/bench_crowd.py
	@$(MAKE) --no-print-directory proof

# With test tools alone: a million through all faults of the simulator, 200,000 through those of a server on Python's h2.
proof: build ## a million pushes through random faults, by two servers: none lost, none doubled (half an hour)
	@scripts/make/setup.sh --test
	$(PYTHON) scripts/load/load_pushes.py
	$(PYTHON) scripts/load/load_pushes.py --foreign

load: build setup-bench ## proof under load: 300 calls/s at one node and at two, races of CANCEL, lost packets; nothing is left of any call. Then make proof
	$(PYTHON) scripts/load/load_calls.py
	@$(MAKE) --no-print-directory proof

endure: build setup-bench ## half an hour of calls while engine, provider, disk, clock and log fail in turn: nothing lost, nothing doubled, memory flat
	$(PYTHON) scripts/load/endure.py

fuzz: setup ## a minute of libFuzzer for each target
	@for target in register request template answer message upstream agi legs row image settings key http1 http2 listener; do Fuzz/run $$target 60 || exit 1; done

format: ## rewrite the Swift sources in the house style
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Fuzz

lint: ## say where the style is broken
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Fuzz

clean: ## remove what build made; keeps .cache
	rm -rf .build kamailio-glue/pushwake.so
	@$(MAKE) --no-print-directory -C Benchmarks clean
