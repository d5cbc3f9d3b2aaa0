"""Training, one regime at a time.

`regime.train` is the function that a stage calls, `run.Run` the object that holds what a regime of
a run is. Between the two: `session` takes the steps of `loop`, and watches, saves and shows them;
`state` is all that changes from step to step, `journal` all that is recorded of it; `checkpoint`
holds both in a file.
"""
