package bootstrap

// K3sInstaller is the installer that the project publishes.
const K3sInstaller = "https://get.k3s.io"

var k3s = distribution{
	name:    "k3s",
	install: `INSTALL_K3S_EXEC=agent INSTALL_K3S_SKIP_START=true INSTALL_K3S_VERSION=$version sh installer.sh`,
}

var _ = row(Type{
	Name: k3s.name, Token: SharedToken, JoinsEndpoint: true, Installer: K3sInstaller, ServesCertificates: true,
	render: func(in Inputs) ([]byte, error) { return K3s(in.Config, in.Token, in.Installer) },
})

// K3s returns the cloud-config of an agent of k3s. The token is the cluster's agent token; installer is the address of the install
// script, "" for an image that has k3s.
func K3s(c Config, token, installer string) ([]byte, error) { return k3s.agent(c, token, installer) }
