"""How the page is set: on a screen of any width, and on paper.

Colours are those of `figures.style`. On paper a picture stays with its words, and no picture and
no table is cut that fits on one page.
"""

from __future__ import annotations

CSS = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif;
overflow-wrap:break-word}
header,main,footer{max-width:46rem;margin:0 auto;padding:0 1rem}
.two header,.two main,.two footer{max-width:84rem}
.two p,.two ul{max-width:46rem}
h1{font-size:1.7rem;line-height:1.2;margin:1.6rem 0 .4rem}
h2{font-size:1.4rem;line-height:1.25;margin:3rem 0 .5rem;padding-top:.6rem;
border-top:3px solid var(--ink)}
h3{font-size:1.12rem;line-height:1.3;margin:2.2rem 0 .4rem}
a{color:var(--regime0)}
p{margin:.5rem 0}
.look,.numbers{border-left:3px solid var(--grid);padding-left:.7rem}
.numbers{border-color:var(--regime0)}
.lead{color:var(--muted)}
.pictures{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:flex-end}
figure{margin:.6rem 0;max-width:100%;min-width:0}
.scroll{overflow-x:auto;max-width:100%}
svg{display:block;height:auto;max-width:100%;stroke-linecap:butt}
figcaption,caption{color:var(--muted);font-size:.88rem;text-align:left;padding:.2rem 0}
table{border-collapse:collapse;font-size:.88rem;margin:.6rem 0;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;
border-bottom:1px solid var(--grid)}
th{font-weight:600}
td:not(:last-child){white-space:nowrap}
td:last-child{min-width:7rem}
td:nth-child(n+7):last-child{white-space:nowrap}
header td:not(:last-child){white-space:normal}
details summary{cursor:pointer;color:var(--muted);font-size:.88rem}
nav{columns:2 15rem;margin:1rem 0}
nav ul{list-style:none;margin:0 0 .8rem;padding:0;break-inside:avoid}
nav li li{padding-left:1rem;font-size:.92rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem}
.pair>div{min-width:0}
@media screen and (max-width:70rem){.pair{grid-template-columns:1fr}}
@media print{body{font-size:10pt}.scroll{overflow:visible}td{white-space:normal!important}
svg{min-width:0!important;max-height:15cm}table{font-size:8pt}nav{columns:2}
h2{break-before:page}h2,h3,.lead{break-after:avoid}
.whole,p,li,figure,tr,.scroll{break-inside:avoid}}
"""
