"""A Kubernetes API as the rest of Quarterdeck needs it: plain objects in, plain objects or `ConsoleError`s out.

`client.Kube` is the one place that speaks to the API server (and the only module that imports the vendor's client),
`access` reads a kubeconfig, `errors` translates refusals, `mirror` keeps what was listed up to date by watching.
"""
