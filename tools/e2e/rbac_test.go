package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/rbacaudit"
)

// account is the operator's ServiceAccount, by the chart's defaults.
const account = "karpenter"

// ledger records the operator's rights and its use of them, over all clusters of a run.
var ledger struct {
	sync.Mutex
	granted []rbacaudit.Right
	used    rbacaudit.Usage
}

// complete is given where all suites run: a part of them does not need all rights.
var complete = flag.Bool("complete", false, "fail for each right of the operator that no test of this run needed")

// TestMain looks, when all suites ran, for rights that none of them needed. Rights
// that are missing fail the test that missed them.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		return // every suite starts a cluster
	}
	if err := runTogether(); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 && *complete {
		for _, right := range spareRights() {
			fmt.Fprintf(os.Stderr, "spare right: %s, and no suite needed it\n", right)
			code = 1
		}
	}
	os.Exit(code)
}

// together is how many clusters run at once, unless -parallel is given. Suites wait for most of their
// time, so that two processors serve more of them than Go's default, which is one for each processor.
const together = 6

func runTogether() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(max(together, runtime.GOMAXPROCS(0))))
}

func spareRights() []rbacaudit.Right {
	ledger.Lock()
	defer ledger.Unlock()
	// The admission plugin OwnerReferencesPermissionEnforcement, which the local
	// cluster has, requires these when an owner is set that blocks deletion;
	// tools/charttest shows that it refuses without them.
	for _, by := range []struct {
		by    rbacaudit.Use
		owner string
	}{
		{rbacaudit.Use{Verb: "create", Group: "karpenter.sh", Resource: "nodeclaims"}, "nodepools"},
		{rbacaudit.Use{Verb: "patch", Resource: "nodes"}, "nodeclaims"},
	} {
		ledger.used.Imply(by.by, rbacaudit.Use{Verb: "update", Group: "karpenter.sh", Resource: by.owner + "/finalizers"})
	}
	// The admission plugin CertificateApproval requires the right to approve for the signer.
	for _, signer := range []string{"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"} {
		ledger.used.Imply(rbacaudit.Use{Verb: "update", Group: "certificates.k8s.io", Resource: "certificatesigningrequests/approval"},
			rbacaudit.Use{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: signer})
	}
	// An informer begins with a watch that sends what there is. It lists where the API
	// server cannot do that, as the API servers of the oldest Kubernetes that the charts are for.
	for _, right := range ledger.granted {
		if right.Verb == "list" {
			watch := right.Use
			watch.Verb = "watch"
			ledger.used.Imply(watch, right.Use)
		}
	}
	return rbacaudit.Spare(ledger.granted, ledger.used)
}

// rightsOf is the audit of one cluster.
type rightsOf struct {
	log     string
	granted []rbacaudit.Right
}

// auditRights, called before a cluster is started, reads its audit log when it has
// ended and is complete.
func auditRights(t *testing.T) *rightsOf {
	t.Helper()
	r := &rightsOf{}
	t.Cleanup(func() {
		if r.log == "" {
			return // it never started
		}
		used, err := r.read()
		if err != nil {
			t.Errorf("reading the audit log: %v", err)
		}
		for _, missing := range rbacaudit.Denied(used) {
			t.Errorf("missing right: the operator was refused to %s", missing)
		}
		ledger.Lock()
		defer ledger.Unlock()
		ledger.granted = append(ledger.granted, r.granted...)
		ledger.used.Merge(used)
	})
	return r
}

// of reads, before the cluster ends, what the operator may do in it.
func (r *rightsOf) of(t *testing.T, e *environment) {
	t.Helper()
	r.log = filepath.Join(e.LogDir(), "audit.log")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var err error
		if r.granted, err = rbacaudit.Granted(ctx, e.kube, localcluster.Namespace, account); err != nil || len(r.granted) == 0 {
			t.Errorf("reading what the operator may do: %d rights, %v", len(r.granted), err)
		}
	})
}

func (r *rightsOf) read() (rbacaudit.Usage, error) {
	var used rbacaudit.Usage
	log, err := os.Open(r.log)
	if err != nil {
		return used, err
	}
	defer func() { _ = log.Close() }()
	return used, used.Read(log, "system:serviceaccount:"+localcluster.Namespace+":"+account)
}
