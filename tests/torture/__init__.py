"""The torture suite: promises that must hold for any input and at any moment. `make torture`, or
`PYTHONPATH=tests python -m torture --help`. Each promise is a module with a `PROMISE`; its `case`
gets a number, from which everything random follows, and raises where the promise is broken."""
