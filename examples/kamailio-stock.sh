#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Puts PushWake into the kamailio.cfg that Kamailio's packages install (5.6 to 6.0), and prints the result.
#
# usage: kamailio-stock.sh [FILE] > kamailio.cfg.new       default: /etc/kamailio/kamailio.cfg
#
# Your keys go into pushwake.cfg beside it; docs/kamailio-stock.md has one.
set -eu

file=${1:-/etc/kamailio/kamailio.cfg}
new=$(mktemp)
trap 'rm -f "$new"' EXIT

fail() {
    echo "kamailio-stock: $1; put it in by hand, as docs/kamailio-stock.md says" >&2
    exit 1
}

[ -r "$file" ] || fail "cannot read $file"
! grep -q '^[[:space:]]*loadmodule[[:space:]]*"pushwake' "$file" || fail "$file loads pushwake already"

awk '
    { line = $0 }
    line !~ /^[ \t]*(#|\/\/)/ {
        if (match(line, /(^|[^_A-Za-z0-9])save\("location"/)) {
            sub(/save\("location"/, "pushwake_save(\"location\"", line)
        }
        if (match(line, /(^|[^_A-Za-z0-9])lookup\("location"/)) {
            sub(/lookup\("location"/, "pushwake_lookup(\"location\"", line)
        }
    }
    line ~ /^[ \t]*modparam\("acc", "log_missed_flag", FLT_ACCMISSED\)/ { misses = 1 }
    line ~ /^[ \t]*request_route[ \t]*\{/ && !settings {
        settings = 1
        print "# ----- pushwake params -----"
        print "# a phone that falls asleep stays registered, and push tokens make long Contacts"
        print "modparam(\"usrloc\", \"handle_lost_tcp\", 0)"
        print "modparam(\"registrar\", \"contact_max_size\", 1023)"
        print "modparam(\"registrar\", \"gruu_enabled\", 0)"
        if (misses) {
            print "# route[LOCATION] sets the flag for missed calls after the lookup, when acc has looked at the call already"
            print "modparam(\"acc\", \"acc_prepare_flag\", FLT_ACC)"
        }
        print "# route[RELAY] arms its routes for calls that wait for a phone, too"
        print "modparam(\"pushwake\", \"lookup_goes_on\", 1)"
        print "import_file \"pushwake.cfg\""
        print ""
    }
    { print line }
    line ~ /^[ \t]*route\(REQINIT\);/ { print "\tif(!is_method(\"REGISTER\")) route(PUSHWAKE_PRIVATE);" }
    line ~ /^[ \t]*reply_route[ \t]*\{/ { print "\troute(PUSHWAKE_PRIVATE);" }
    line ~ /^[ \t]*loadmodule[ \t]*"registrar(\.so)?"/ { print "loadmodule \"pushwake.so\"" }
' "$file" > "$new"
cat >> "$new" <<'END'

# What others see of a phone has neither its push token nor its instance
route[PUSHWAKE_PRIVATE] {
	subst_hf("Contact", "/;(\\+sip\\.instance|pn-([^p=;>]|p[^u=;>])[^=;>]*|push-token-[^=;>]*|app-?id|devicetoken|selector|x-mpush)=(\"[^\"]*\"|[^;>,]*)//gi", "a");
	remove_hf_re("^X-(MPUSH|PIID|Sy\\.)");
	return;
}
END

for what in 'loadmodule "pushwake.so"' 'pushwake_save("location"' 'pushwake_lookup("location"' 'import_file "pushwake.cfg"' \
    'if(!is_method("REGISTER")) route(PUSHWAKE_PRIVATE);' 'reply_route {'; do
    grep -qF "$what" "$new" || fail "$file is not the configuration of the packages: no place for $what"
done
cat "$new"
