package policies

// CodeLogsSecret marks a header that proves who somebody is where it would be written down.
const CodeLogsSecret = "LogsSecret"
