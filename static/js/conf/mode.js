// What slurm.conf looks like to Ace: comments, keys, quoted values, numbers, and the markers around the person's lines.
/* global ace */
export const MODE = "slurmconf";

ace.define(`ace/mode/${MODE}`, ["require", "exports", "module"], (require, exports) => {
  const { TextHighlightRules } = require("ace/mode/text_highlight_rules");
  const { Mode: Text } = require("ace/mode/text");

  class Rules extends TextHighlightRules {
    constructor() {
      super();
      this.$rules = {
        start: [
          { token: "comment.marker", regex: /^# (?:>>>|<<<) .*$/ },
          { token: "comment", regex: /#.*$/ },
          { token: "keyword", regex: /^\s*include\b/, caseInsensitive: true },
          { token: ["keyword", "text", "keyword.operator"], regex: /([A-Za-z0-9_.]+)(\s*)([-+*/]?=)(?=\s*\S)/, next: "value" },
          { token: "invalid", regex: /\S+/ },
        ],
        value: [
          { token: "string", regex: /"[^"]*"/, next: "start" },
          { token: "constant.numeric", regex: /\s*(?:\d+|(?:\d+-)?\d+(?::\d+)+)(?=\s|$)/, next: "start" },
          { token: "constant.language", regex: /\s*(?:YES|NO|ALL|INFINITE|UNLIMITED|UP|DOWN|DRAIN|INACTIVE)(?=\s|$)/, next: "start" },
          { token: "text", regex: /\s*(?:\\.|[^\s#\\])+/, next: "start" },
          { token: "comment", regex: /#.*$/, next: "start" },
          { token: "text", regex: /$/, next: "start" },
          { token: "text", regex: /\s+|\\/ },
        ],
      };
      this.normalizeRules();
    }
  }

  class Mode extends Text {
    constructor() {
      super();
      this.HighlightRules = Rules;
      this.lineCommentStart = "#";
      this.$id = `ace/mode/${MODE}`;
    }
  }
  Object.assign(exports, { Mode });
});
