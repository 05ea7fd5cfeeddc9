"""One program for each streaming engine: it joins the streams of a task, and says how long that took."""
