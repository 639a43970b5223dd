
showPage(JSON.parse(document.getElementById("numbers").textContent));
