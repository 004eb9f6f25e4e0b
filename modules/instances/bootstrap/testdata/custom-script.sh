#!/usr/bin/env bash
set -eu
agent join --name "${KARPENTER_NODE_NAME}" --labels "${KARPENTER_NODE_LABELS}" --taints "${KARPENTER_NODE_TAINTS}" --from "${HOSTNAME}"
