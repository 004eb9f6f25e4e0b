package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

func TestForbidCoreDumps(t *testing.T) {
	if err := forbidCoreDumps(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) })
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || dumpable != 0 {
		t.Errorf("the process is dumpable: %d, %v", dumpable, err)
	}
}

var _ = Describe("A core dump", func() {
	It("is not made of the running process", func(ctx context.Context) {
		_, url := simulator(GinkgoTB(), map[string][]string{secret: {"*"}}, cluster("demo"))
		p := start(ctx, url)
		DeferCleanup(p.stop)
		Eventually(p.ready).Should(Equal(http.StatusOK), p.output)
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.command.Process.Pid))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(limits)).To(MatchRegexp(`Max core file size +0 +0 `))
	})
})
