"""Pages in which a run can be looked at: one file of HTML, without a server."""
