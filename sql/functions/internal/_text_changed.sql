create or replace function loom._text_changed(p_row loom.memory) returns void
language plpgsql volatile
as $$
declare
  v_wanted boolean;
  v_language text;
  v_other boolean;
begin
  if not loom._is_searchable(p_row) then
    delete from loom.memory_text where org = p_row.org and memory_id = p_row.memory_id;
    return;
  end if;
  v_language := loom._namespace_language(p_row.org, p_row.namespace);
  v_wanted := loom._embedding_wanted();
  if v_wanted then
    select (content_sha256, plane) <> (p_row.content_sha256, loom._plane_of(p_row.memory_type)) into v_other from loom.memory_text
    where org = p_row.org and memory_id = p_row.memory_id;
  end if;
  insert into loom.memory_text (org, memory_id, namespace, user_id, plane, language, content_sha256, words)
  values (p_row.org, p_row.memory_id, p_row.namespace, p_row.user_id, loom._plane_of(p_row.memory_type), v_language,
    p_row.content_sha256, loom._memory_words(p_row, v_language))
  on conflict (org, memory_id) do update
    set plane = excluded.plane, language = excluded.language, content_sha256 = excluded.content_sha256,
      words = excluded.words;
  if v_wanted and v_other is not false then
    perform loom._embedding_list(array[p_row]);
  end if;
end
$$;
comment on function loom._text_changed(loom.memory) is
  'Makes anew what a row is found by, or removes it; and lists it as due for a vector if its text is another.';
