"""The guarded ways out: HTTP clients, DNS, robots.txt, and which addresses may be contacted."""
