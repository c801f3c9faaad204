create or replace function loom._search_explained(p_asked loom.search_query) returns jsonb
language plpgsql immutable
as $$
begin
  return jsonb_build_object(
    'words', coalesce((select jsonb_agg(term::text order by place)
      from unnest(p_asked.terms) with ordinality as asked (term, place)), '[]'),
    'model', coalesce(p_asked.model, '-'));
end
$$;
comment on function loom._search_explained(loom.search_query) is
  'What a query became: its words as full text looks for them, and the model whose vectors were asked (-: none).';
