package clusterapi

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// management returns the configuration in a kubeconfig of the management cluster. The author of the file, or of the Secret behind it, is
// trusted with the Machines of that cluster, but not with this process. So management refuses a file that would run a program, send the
// operator's own token elsewhere, or use an API server without verifying it.
func management(path string) (*rest.Config, error) {
	refused := func(found string, err error, fix string) error {
		return &options.Error{Name: "CLUSTERAPI_KUBECONFIG", Found: found, Err: err, Fix: fix}
	}
	loaded, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, refused("cannot be used", err, "set it to a file with the kubeconfig of the management cluster")
	}
	if found, fix := unsafe(loaded, filepath.Dir(path)); found != "" {
		return nil, refused(found, nil, fix)
	}
	if err := clientcmd.ResolveLocalPaths(loaded); err != nil {
		return nil, refused("cannot be used", err, "name files by paths within the kubeconfig's directory")
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, refused("cannot be used", err, "set it to a file with the kubeconfig of the management cluster")
	}
	return config, nil
}

// unsafe returns the refused part of a kubeconfig and the remedy, "" if nothing is refused. All entries count, not only the entries of
// the current context.
func unsafe(config *clientcmdapi.Config, directory string) (found, fix string) {
	const certificates = "use https with certificate-authority-data"
	for name, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		switch {
		case err != nil || server.Scheme != "https" || server.Host == "":
			return fmt.Sprintf("cluster %q has a server without https", name), certificates
		case cluster.InsecureSkipTLSVerify:
			return fmt.Sprintf("cluster %q has insecure-skip-tls-verify, so any server could take the credential", name), certificates
		case outside(cluster.CertificateAuthority, directory):
			return fmt.Sprintf("cluster %q names the file %q outside of the kubeconfig's directory", name, cluster.CertificateAuthority),
				certificates
		}
	}
	const credential = "use a token or client-certificate-data and client-key-data"
	for name, user := range config.AuthInfos {
		switch {
		case user.Exec != nil:
			return fmt.Sprintf("user %q has an exec plugin, %q, which would run in the operator's container", name, user.Exec.Command), credential
		case user.AuthProvider != nil:
			return fmt.Sprintf("user %q has the auth-provider %q", name, user.AuthProvider.Name), credential
		}
		for _, file := range []string{user.TokenFile, user.ClientCertificate, user.ClientKey} {
			if outside(file, directory) {
				return fmt.Sprintf("user %q names the file %q outside of the kubeconfig's directory, such as the operator's own token", name, file),
					credential
			}
		}
	}
	return "", ""
}

// outside returns whether a file, whose path is relative to a directory, is outside of the directory.
func outside(file, directory string) bool {
	if file == "" {
		return false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(directory, file)
	}
	relative, err := filepath.Rel(directory, file)
	return err != nil || relative == ".." || strings.HasPrefix(relative, "../")
}
