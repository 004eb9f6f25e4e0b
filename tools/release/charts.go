package release

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

var chartNames = []string{"karpenter-crd", "karpenter"}

// Image is the image that the packaged chart installs.
type Image struct {
	Repository string
	Digest     string // sha256:...
}

// BuiltController is the controller's image in .bin/images, which `make image` or Build has made, with its name in the registry. A
// missing image is an error.
func BuiltController(c Config, registry string) (Image, error) {
	if err := validVersion(c.Version); err != nil {
		return Image{}, err
	}
	built, err := readImage(filepath.Join(c.imageDir(), images[0].layout))
	if err != nil {
		return Image{}, fmt.Errorf("run `make image VERSION=%s` first: %w", c.Version, err)
	}
	return Image{Repository: registry + "/" + images[0].repository, Digest: built.digest.String()}, nil
}

// PackageCharts writes both charts as archives into out, with version and appVersion of the
// release and the image by its digest. It returns the files by chart.
func PackageCharts(root, out, version string, controller Image) (map[string]string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range chartNames {
		c, err := loader.LoadDir(filepath.Join(root, "charts", name))
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", name, err)
		}
		c.Metadata.Version, c.Metadata.AppVersion = version, version
		if name == "karpenter" {
			if err := pinImage(c, controller); err != nil {
				return nil, fmt.Errorf("chart %s: %w", name, err)
			}
		}
		file, err := chartutil.Save(c, out)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", name, err)
		}
		files[name] = file
	}
	return files, nil
}

// pinImage sets the image in values.yaml, whose comments stay, and in Artifact Hub's list.
func pinImage(c *chart.Chart, controller Image) error {
	at := -1
	for i, file := range c.Raw {
		if file.Name == "values.yaml" {
			at = i
		}
	}
	if at < 0 {
		return fmt.Errorf("no values.yaml")
	}
	pinned, err := withImage(c.Raw[at].Data, controller)
	if err != nil {
		return err
	}
	c.Raw[at].Data = pinned
	c.Values = map[string]any{}
	if err := yaml.Unmarshal(pinned, &c.Values); err != nil {
		return err
	}
	if c.Metadata.Annotations == nil {
		c.Metadata.Annotations = map[string]string{}
	}
	c.Metadata.Annotations["artifacthub.io/images"] = fmt.Sprintf("- name: controller\n  image: %s:%s@%s\n  platforms: [linux/amd64, "+
		"linux/arm64]\n",
		controller.Repository, c.Metadata.AppVersion, controller.Digest)
	return nil
}

// withImage replaces the values of controller.image in the text of values.yaml.
func withImage(values []byte, controller Image) ([]byte, error) {
	var parsed struct {
		Controller struct {
			Image struct{ Repository, Digest string }
		}
	}
	if err := yaml.Unmarshal(values, &parsed); err != nil {
		return nil, err
	}
	old := parsed.Controller.Image
	for _, line := range [][2]string{
		{"    repository: " + old.Repository + "\n", "    repository: " + controller.Repository + "\n"},
		{"    digest: \"" + old.Digest + "\"\n", "    digest: \"" + controller.Digest + "\"\n"},
	} {
		if bytes.Count(values, []byte(line[0])) != 1 {
			return nil, fmt.Errorf("values.yaml must have exactly one line %q", strings.TrimSpace(line[0]))
		}
		values = bytes.Replace(values, []byte(line[0]), []byte(line[1]), 1)
	}
	return values, nil
}

// pushCharts pushes the archives below prefix and returns their references with digests.
func pushCharts(prefix, version string, files map[string]string) (map[string]string, error) {
	client, err := charts.Registry("oci://" + prefix)
	if err != nil {
		return nil, err
	}
	references := map[string]string{}
	for _, name := range chartNames {
		archive, err := os.ReadFile(files[name])
		if err != nil {
			return nil, err
		}
		pushed, err := client.Push(archive, prefix+"/"+name+":"+version, registry.PushOptCreationTime("1970-01-01T00:00:00Z"))
		if err != nil {
			return nil, fmt.Errorf("push chart %s: %w", name, err)
		}
		references[name] = prefix + "/" + name + "@" + pushed.Manifest.Digest
	}
	return references, nil
}
