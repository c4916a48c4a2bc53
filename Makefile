# SPDX-License-Identifier: MIT
# GNU make. `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
PYTHON  ?= /usr/bin/python3
SWIFT   ?= swift

LIBDIR            ?= $(PREFIX)/lib
RUN_AS            ?= kamailio
KAMAILIO_MODULES  ?= /usr/lib/$(shell gcc -print-multiarch)/kamailio/modules

# A chroot takes root.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

# What the engine writes to, and its mode; the store stays when PushWake is uninstalled. Others may pass to a socket
# that lets them (engine_socket_group).
STATE := 0751:/run/pushwake 0750:/var/lib/pushwake

DIST  := .build/dist
STAGE := .build/stage

# -static-stdlib has to reach the compiler too: it chooses which Foundation the executable links.
# Exclusive access is checked in debug builds and by the tests; the check per access costs the hot path 3 %.
RELEASE := -c release --disable-local-rpath -Xswiftc -static-stdlib -Xswiftc -enforce-exclusivity=unchecked --scratch-path $(DIST)

.DEFAULT_GOAL := help
.PHONY: help setup unmoved build build-tests demo test test-unit test-sockets test-abi test-e2e e2e-together e2e-alone test-kamailio test-phones \
    test-asterisk asterisk-together asterisk-alone test-docs demo-asterisk docs install uninstall bench load fuzz format lint clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /  \1 \t/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install what is missing (apt packages, Kamailio's headers)
	@scripts/setup.sh

# Swift's caches hold absolute paths: in a tree that was moved or copied they end in "missing required module".
unmoved:
	@for plan in $(DIST)/release.yaml .build/debug.yaml; do \
	    if [ -f $$plan ] && ! grep -qF "$(CURDIR)/" $$plan; then \
	        echo "this tree was moved or copied: building anew"; rm -rf .build; \
	    fi; \
	done

build: setup unmoved ## release build into .build/stage
	PUSHWAKE_DIST=1 $(SWIFT) build $(RELEASE) --product PushWakeABI
	PUSHWAKE_DIST=1 $(SWIFT) build $(RELEASE) --product pushwake
	@mkdir -p $(STAGE)/bin $(STAGE)/lib/kamailio $(STAGE)/include
	@install -m 755 $(DIST)/release/pushwake $(STAGE)/bin/pushwake
	@install -m 644 $(DIST)/release/libPushWakeABI.so $(STAGE)/lib/libpushwake.so.1
	@ln -sf libpushwake.so.1 $(STAGE)/lib/libpushwake.so
	@install -m 644 include/pushwake.h $(STAGE)/include/pushwake.h
	@if [ -f kamailio-glue/Makefile ]; then \
	    $(MAKE) --no-print-directory -s -C kamailio-glue PREFIX=$(PREFIX) && \
	    install -m 644 kamailio-glue/pushwake.so $(STAGE)/lib/kamailio/pushwake.so; \
	fi

demo: build ## a sleeping phone rings behind a real Kamailio
	$(PYTHON) scripts/demo.py

demo-asterisk: build ## the same behind a real Asterisk 22, in a chroot (needs root)
	$(AS_ROOT) $(PYTHON) scripts/demo-asterisk.py

# What is independent runs side by side, since most of it waits; what measures comes last and has the machine to itself.
SIDE_BY_SIDE := MAKE="$(MAKE)" $(PYTHON) scripts/side_by_side.py

test: setup build build-tests ## everything: unit tests, ABI checks, end to end
	@$(SIDE_BY_SIDE) e2e-together asterisk-together $(SOCKET_SUITES) test-unit test-docs -- test-abi e2e-alone asterisk-alone

build-tests: unmoved
	$(SWIFT) build --build-tests

# A process for each: tests that wait on sockets hold Swift's few threads.
# The engine's are the longest: those of the files from A to D, and the others.
SOCKET_SUITES := $(addprefix suite-,Engine-A-D Engine-E-Z Store Transport Simulator)

test-unit: suite-Core suite-Fuzz ## Swift tests without sockets, files and waiting

test-sockets: build-tests ## the other Swift tests
	@$(SIDE_BY_SIDE) $(SOCKET_SUITES)

RUN_SUITES := .build/debug/PushWakePackageTests.xctest --testing-library swift-testing --quiet --filter

suite-Engine-%: build-tests
	@$(RUN_SUITES) '^PushWakeEngineTests\..*/[$*][A-Za-z+]*\.swift:'

suite-%: build-tests
	@$(RUN_SUITES) '^PushWake$*Tests'

test-abi: ## the shipped library against its header (needs build)
	@if [ -x Tests/abi/run ]; then Tests/abi/run; fi

test-asterisk: ## real Asterisk 22 in a chroot (needs build, root)
	@$(SIDE_BY_SIDE) asterisk-together -- asterisk-alone

test-e2e: ## real Kamailio, SIPp and the simulator (needs build)
	@$(SIDE_BY_SIDE) e2e-together -- e2e-alone

# More workers than cores: the tests wait for most of their time.
TOGETHER := -m 'not alone' --dist loadgroup -n
PYTEST   := $(PYTHON) -m pytest -q -p no:cacheprovider

e2e-together:
	@$(PYTEST) $(TOGETHER) 6 Tests/e2e

e2e-alone:
	@$(PYTEST) -m alone Tests/e2e

asterisk-together:
	@$(AS_ROOT) $(PYTEST) $(TOGETHER) 3 Tests/e2e-asterisk

asterisk-alone:
	@$(AS_ROOT) $(PYTEST) -m alone Tests/e2e-asterisk

# Run on the later releases as well; app_lua, tls and the like are there.
KAMAILIO_CORE = $(addprefix Tests/e2e/test_,$(addsuffix .py,silent dead_connection no_answer push_failure one_device cancel ends \
	routes relay_failure messages registrar_settings refresh in_dialog several call_again provisional stock accounting))

test-kamailio: ## the core of test-e2e on Kamailio 6.0 and 6.1, in chroots (needs build, root)
	@for suite in trixie sid; do \
	    root=$$($(AS_ROOT) scripts/kamailio-chroot.sh $$suite) && \
	    $(AS_ROOT) env KAMAILIO_ROOT=$$root KAMAILIO_MODULE=$$root/pushwake/pushwake.so \
	        $(PYTHON) -m pytest -q -p no:cacheprovider $(KAMAILIO_CORE) || exit 1; \
	done

test-phones: ## PJSIP, Linphone and baresip with a real Kamailio (needs build)
	@scripts/setup.sh --phones
	$(PYTHON) -m pytest -q -p no:cacheprovider Tests/phones

docs: build ## write docs/settings.md from the settings table
	$(STAGE)/bin/pushwake settings > docs/settings.md

test-docs: ## what the documents name exists; docs/settings.md is what the settings table says (needs build)
	@$(PYTHON) scripts/check_references.py
	@$(STAGE)/bin/pushwake settings | diff -u docs/settings.md - || { echo "run: make docs"; exit 1; }

install: ## copy the build to $(DESTDIR)$(PREFIX) and Kamailio's module directory
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR) $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/doc/pushwake/formats
	install -m 755 $(STAGE)/bin/pushwake $(DESTDIR)$(PREFIX)/bin/pushwake
	install -m 644 $(STAGE)/lib/libpushwake.so.1 $(DESTDIR)$(LIBDIR)/libpushwake.so.1
	ln -sf libpushwake.so.1 $(DESTDIR)$(LIBDIR)/libpushwake.so
	install -m 644 include/pushwake.h $(DESTDIR)$(PREFIX)/include/pushwake.h
	install -m 644 README.md LICENSE docs/*.md $(DESTDIR)$(PREFIX)/share/doc/pushwake/
	install -m 644 docs/formats/*.md $(DESTDIR)$(PREFIX)/share/doc/pushwake/formats/
	install -d $(DESTDIR)$(PREFIX)/share/pushwake
	install -m 755 examples/kamailio-stock.sh $(DESTDIR)$(PREFIX)/share/pushwake/
	install -d $(DESTDIR)$(KAMAILIO_MODULES)
	install -m 644 $(STAGE)/lib/kamailio/pushwake.so $(DESTDIR)$(KAMAILIO_MODULES)/pushwake.so
	install -d $(DESTDIR)$(PREFIX)/lib/tmpfiles.d
	printf 'd %s %s $(RUN_AS) $(RUN_AS) -\n' $(foreach place,$(STATE),$(lastword $(subst :, ,$(place))) $(firstword $(subst :, ,$(place)))) > $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/pushwake.conf
	$(if $(DESTDIR),,ldconfig && if id $(RUN_AS) >/dev/null 2>&1; then $(foreach place,$(STATE),install -d -o $(RUN_AS) -g $(RUN_AS) -m $(subst :, ,$(place));) fi)

uninstall: ## remove what install copied
	rm -f $(DESTDIR)$(PREFIX)/bin/pushwake $(DESTDIR)$(LIBDIR)/libpushwake.so.1 $(DESTDIR)$(LIBDIR)/libpushwake.so
	rm -f $(DESTDIR)$(PREFIX)/include/pushwake.h $(DESTDIR)$(KAMAILIO_MODULES)/pushwake.so
	rm -f $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/pushwake.conf
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/pushwake
	rm -f $(DESTDIR)$(PREFIX)/share/pushwake/kamailio-stock.sh
	$(if $(DESTDIR),,ldconfig)

bench: build ## CPU per push against a bare nghttp2 client and others, per woken call against tsilo
	@scripts/setup.sh --bench
	@$(MAKE) --no-print-directory -C Benchmarks
	$(PYTHON) scripts/bench.py
	$(PYTHON) scripts/bench_calls.py

load: build ## proof under load: 300 calls/s, races of CANCEL, lost packets; nothing is left of any call
	@scripts/setup.sh --bench
	@$(MAKE) --no-print-directory -C Benchmarks
	$(PYTHON) scripts/load_calls.py

fuzz: setup ## a minute of libFuzzer for each target
	@for target in register request template answer message http1 http2; do Fuzz/run $$target 60 || exit 1; done

format: ## rewrite the Swift sources in the house style
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Fuzz

lint: ## say where the style is broken
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Fuzz

clean: ## remove what build made; keeps .cache
	rm -rf .build kamailio-glue/pushwake.so
	@$(MAKE) --no-print-directory -C Benchmarks clean
