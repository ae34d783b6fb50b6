// Builds an application with webpack as it is, into its folder dist.
import { createRequire } from "node:module";

const webpack = createRequire(`${process.env.NODE_TOOLS}/`)("webpack");
const settings = { context: process.argv[2], mode: "production", entry: "./main.js", performance: false };
webpack({ ...settings, output: { path: `${process.argv[2]}/dist` } }, (error, stats) => {
  if (error || stats.hasErrors() || stats.hasWarnings()) {
    console.error(error ?? stats.toString());
    process.exitCode = 1;
  }
});
