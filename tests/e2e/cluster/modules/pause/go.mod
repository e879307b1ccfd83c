module kschedpatch.io/e2e/pause

go 1.23
