/** Real opencode, watched for minutes instead of moments: nothing grows and no folder is loaded. */
import './real-opencode-sessions.integration.test.ts';
