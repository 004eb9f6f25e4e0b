package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// Verbs send the token as the controller does: in clear only where a user permits it. 0.0.0.0 is this machine, and no loopback address.
func TestVerbsSendTheTokenInClearOnlyWhereThatIsPermitted(t *testing.T) {
	_, url := simulator(t, map[string][]string{secret: {"*"}}, cluster("demo"))
	t.Setenv("LINODE_TOKEN", secret)
	t.Setenv("LINODE_URL", strings.Replace(url, "127.0.0.1", "0.0.0.0", 1))
	t.Setenv("CLUSTER_NAME", "demo")
	for name, verb := range map[string]func(context.Context, []string, io.Writer) error{plansVerb: writePlans, pricesVerb: writePrices} {
		for _, permitted := range []string{"", "false", "true"} {
			t.Run(name+" "+permitted, func(t *testing.T) {
				t.Setenv("LINODE_ALLOW_HTTP", permitted)
				var out bytes.Buffer
				err := verb(t.Context(), nil, &out)
				if permitted == "true" {
					if err != nil || !strings.Contains(out.String(), "g6-standard-2") {
						t.Errorf("%v, %.300s", err, out.String())
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), "LINODE_ALLOW_HTTP") || strings.Contains(err.Error(), secret) || out.Len() > 0 {
					t.Errorf("%v, %.300s", err, out.String())
				}
			})
		}
	}
}
