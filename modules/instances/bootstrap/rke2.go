package bootstrap

// RKE2Installer is the installer that the project publishes.
const RKE2Installer = "https://get.rke2.io"

var rke2 = distribution{
	name:    "rke2",
	install: `INSTALL_RKE2_TYPE=agent INSTALL_RKE2_VERSION=$version sh installer.sh`,
}

var _ = row(Type{
	Name: rke2.name, Token: SharedToken, JoinsEndpoint: true, Installer: RKE2Installer, ServesCertificates: true,
	render: func(in Inputs) ([]byte, error) { return RKE2(in.Config, in.Token, in.Installer) },
})

// RKE2 returns the cloud-config of an agent of RKE2, whose servers listen for agents at port 9345. The parameters are the
// same as for K3s.
func RKE2(c Config, token, installer string) ([]byte, error) { return rke2.agent(c, token, installer) }
