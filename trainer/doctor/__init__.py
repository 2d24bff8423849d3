"""The doctor: what stands in the way of a run, told before it starts.

Each check is one small function that looks and changes nothing. What it cannot know it says so.
Nothing is sent anywhere, except one bounded question to each service that the recipe names.
"""
