package apiserver

import (
	"fmt"
	"os"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Shared is one API server for the tests of a package. The first test that asks for the server starts it, because a start takes 20
// seconds of processor time. Tests give their objects names of their own, or delete what they make.
//
//	var server = apiserver.Shared{Definitions: crds.All()}
//
//	func TestMain(m *testing.M) { os.Exit(server.Run(m)) }
type Shared struct {
	Definitions []*apiextensionsv1.CustomResourceDefinition

	once        sync.Once
	environment *envtest.Environment
	err         error
}

// Environment returns the server, and skips the test with -short.
func (s *Shared) Environment(t *testing.T) *envtest.Environment {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	s.once.Do(func() { s.environment, s.err = Start(s.Definitions) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.environment
}

// Run runs the tests and stops the server. It returns the exit code, which is not 0 when the server does not stop.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	if s.environment == nil {
		return code
	}
	if err := s.environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		return max(code, 1)
	}
	return code
}
