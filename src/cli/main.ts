/**
 * The `sfsd` command: one process, one subcommand, one exit code.
 */
import { runCli } from './program.js';
import { processTerminal } from './terminal.js';

process.exitCode = await runCli(process.argv.slice(2), processTerminal());
