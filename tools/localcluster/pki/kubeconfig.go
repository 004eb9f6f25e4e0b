package pki

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User has the credentials of a kubeconfig's user: a certificate, a token, or a file with
// a token, which clients read again when it changes.
type User struct {
	Name      string
	Pair      Pair
	Token     string
	TokenFile string
}

// Kubeconfig returns a kubeconfig with one context, named after the cluster.
// Certificates are embedded, so the file can be copied to any folder of this machine.
func Kubeconfig(cluster, server string, ca []byte, user User) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user.Name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: user.Pair.Cert, ClientKeyData: user.Pair.Key, Token: user.Token, TokenFile: user.TokenFile,
	}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user.Name}
	config.CurrentContext = cluster
	return clientcmd.Write(*config)
}
